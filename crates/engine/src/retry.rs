//! Pauses between tries: owns the doubling with its bounds, never decides whether to try again.

use std::time::Duration;

use kelda_env::Random;

use crate::config::EngineConfig;

/// The pauses of one operation that is tried again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff {
    next: Duration,
    max: Duration,
}

impl Backoff {
    pub(crate) fn new(config: &EngineConfig) -> Backoff {
        Backoff { next: config.retry_min, max: config.retry_max }
    }

    /// The next pause: twice the one before, up to the bound.
    pub(crate) fn next(&mut self) -> Duration {
        let now = self.next;
        self.next = (now * 2).min(self.max);
        now
    }

    /// As [`Backoff::next`], between a quarter and the whole of it by chance, so that many who failed together do not try
    /// again together.
    pub(crate) fn jittered(&mut self, random: &dyn Random) -> Duration {
        let whole = self.next();
        let nanos = u64::try_from(whole.as_nanos()).unwrap_or(u64::MAX);
        Duration::from_nanos(nanos / 4 + random.below(nanos - nanos / 4))
    }
}
