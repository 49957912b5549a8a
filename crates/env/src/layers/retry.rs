//! When a request is sent again: owns the rule of waits between attempts. Guarantees that they are bounded in number and
//! length, that they are spread (full jitter), and that a store which says how long to wait is left alone for that long.
//! Never decides whether a request may be repeated.

use std::time::Duration;

use crate::{Random, StoreError};

/// Bounds of the attempts of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Attempts in all, the first included; at least one.
    pub attempts: u32,
    /// The longest wait before the second attempt; it doubles from one to the next.
    pub first_wait: Duration,
    /// The longest wait before any attempt, other than what the store asked for.
    pub max_wait: Duration,
    /// The longest wait that a store is granted when it asks for one.
    pub max_asked: Duration,
}

impl Default for Retry {
    fn default() -> Retry {
        Retry {
            attempts: 6,
            first_wait: Duration::from_millis(100),
            max_wait: Duration::from_secs(5),
            max_asked: Duration::from_secs(30),
        }
    }
}

impl Retry {
    /// How long to wait after attempt number `attempt`, counted from 1, failed with `error`; nothing when that was the last
    /// one, or when the error is not one that goes away by itself.
    pub fn wait(&self, attempt: u32, error: &StoreError, random: &dyn Random) -> Option<Duration> {
        if attempt >= self.attempts || !error.is_retryable() {
            return None;
        }
        let longest = self.first_wait.saturating_mul(1 << (attempt - 1).min(16)).min(self.max_wait);
        let micros = u64::try_from(longest.as_micros()).unwrap_or(u64::MAX);
        let spread = Duration::from_micros(random.below(micros.saturating_add(1)));
        let asked = match error {
            StoreError::Throttled { wait: Some(wait), .. } => (*wait).min(self.max_asked),
            _ => Duration::ZERO,
        };
        Some(asked + spread)
    }
}
