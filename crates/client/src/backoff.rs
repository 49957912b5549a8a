//! How long to wait between two tries: owns the growing, jittered pause and the patience that ends it, guarantees
//! that clients which lost one server together do not come back together, never waits itself.

#![expect(clippy::disallowed_types, reason = "a seed is to depend on chance; nothing is iterated")]

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use crate::http::ANSWER_LIMIT;

/// The first pause.
const FIRST: Duration = Duration::from_millis(50);
/// The longest pause.
const LONGEST: Duration = Duration::from_secs(2);
/// The least time that a try gets, however little patience is left: a busy server answers within it.
const SHORTEST_TRY: Duration = Duration::from_secs(10);

/// The pauses of one request, until its patience is used up.
#[derive(Debug)]
pub(crate) struct Backoff {
    ceiling: Duration,
    left: Duration,
    random: u64,
}

impl Backoff {
    /// Pauses, and tries in vain, of at most `patience` together.
    pub(crate) fn new(patience: Duration) -> Backoff {
        // Every state hashes with keys of its own; the library has no other source of randomness and needs no better.
        Backoff::seeded(patience, RandomState::new().hash_one(0_u8))
    }

    /// How long the next try may wait for an answer: what is left, within reason.
    pub(crate) fn limit(&self) -> Duration {
        self.left.clamp(SHORTEST_TRY, ANSWER_LIMIT)
    }

    /// A try took so long in vain.
    pub(crate) fn spend(&mut self, elapsed: Duration) {
        self.left = self.left.saturating_sub(elapsed);
    }

    fn seeded(patience: Duration, seed: u64) -> Backoff {
        Backoff { ceiling: FIRST, left: patience, random: seed }
    }

    /// The next pause, between half of its ceiling and all of it, and the ceiling doubles each time; nothing when
    /// the patience is used up.
    pub(crate) fn pause(&mut self) -> Option<Duration> {
        if self.left.is_zero() {
            return None;
        }
        let half = self.ceiling / 2;
        let pause = (half + half.mul_f64(self.fraction())).min(self.left);
        self.left -= pause;
        self.ceiling = (self.ceiling * 2).min(LONGEST);
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
