//! How long to wait between two tries: owns the growing, jittered pause and the patience that ends it, guarantees
//! that clients which lost one server together do not come back together, never waits itself.

use std::time::Duration;

use crate::http::ANSWER_LIMIT;
use crate::random;
use crate::retry::RetryPolicy;

/// The least time that a try gets, however little patience is left: a busy server answers within it.
const SHORTEST_TRY: Duration = Duration::from_secs(10);

/// The pauses of one request, until its patience is used up.
#[derive(Debug)]
pub(crate) struct Backoff {
    policy: RetryPolicy,
    ceiling: Duration,
    /// What is left of the patience; nothing is no end.
    left: Option<Duration>,
    random: u64,
}

impl Backoff {
    /// Pauses, and tries in vain, of at most `patience` together.
    pub(crate) fn new(patience: Duration) -> Backoff {
        Backoff::of(RetryPolicy::within(patience))
    }

    /// Pauses as the policy wants them.
    pub(crate) fn of(policy: RetryPolicy) -> Backoff {
        Backoff::seeded(policy, random::seed())
    }

    /// What was tried succeeded: the next failure begins anew.
    pub(crate) fn reset(&mut self) {
        (self.ceiling, self.left) = (self.policy.first_pause(), self.policy.patience());
    }

    /// How long the next try may wait for an answer: what is left, within reason.
    pub(crate) fn limit(&self) -> Duration {
        self.left.map_or(ANSWER_LIMIT, |left| left.clamp(SHORTEST_TRY, ANSWER_LIMIT))
    }

    /// A try took so long in vain.
    pub(crate) fn spend(&mut self, elapsed: Duration) {
        self.left = self.left.map(|left| left.saturating_sub(elapsed));
    }

    fn seeded(policy: RetryPolicy, seed: u64) -> Backoff {
        Backoff { policy, ceiling: policy.first_pause(), left: policy.patience(), random: seed }
    }

    /// The next pause, between half of its ceiling and all of it, and the ceiling doubles each time; nothing when
    /// the patience is used up.
    pub(crate) fn pause(&mut self) -> Option<Duration> {
        if self.left == Some(Duration::ZERO) {
            return None;
        }
        let half = self.ceiling / 2;
        let pause = (half + half.mul_f64(self.fraction())).min(self.left.unwrap_or(Duration::MAX));
        self.left = self.left.map(|left| left - pause);
        self.ceiling = (self.ceiling * 2).min(self.policy.longest_pause());
        Some(pause)
    }

    /// The next of a sequence of numbers from 0 to 1 (SplitMix64).
    fn fraction(&mut self) -> f64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests;
