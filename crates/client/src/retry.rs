//! How often to try again: owns the policy that a caller sets, guarantees that what it says is usable, never waits.

use std::time::Duration;

/// Pauses between tries, and how long to go on.
///
/// A pause lies between half of its ceiling and all of it, so that clients which lost one server together do not come
/// back together; the ceiling begins at `first` and doubles up to `longest`.
///
/// ```
/// use std::time::Duration;
/// use kelda_client::RetryPolicy;
/// let policy = RetryPolicy::within(Duration::from_secs(60)).pauses(Duration::from_millis(10), Duration::from_secs(5));
/// assert_eq!(policy.patience(), Some(Duration::from_secs(60)));
/// assert_eq!(RetryPolicy::forever().patience(), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    first: Duration,
    longest: Duration,
    patience: Option<Duration>,
}

impl RetryPolicy {
    /// Tries without end: pauses from 50 ms to 2 s.
    #[must_use]
    pub const fn forever() -> RetryPolicy {
        RetryPolicy { first: Duration::from_millis(50), longest: Duration::from_secs(2), patience: None }
    }

    /// Tries for so long, tries in vain and pauses counted together; zero is one try.
    #[must_use]
    pub const fn within(patience: Duration) -> RetryPolicy {
        RetryPolicy { patience: Some(patience), ..RetryPolicy::forever() }
    }

    /// One try.
    #[must_use]
    pub const fn never() -> RetryPolicy {
        RetryPolicy::within(Duration::ZERO)
    }

    /// The ceilings of the first and of the longest pause; at least a millisecond, and the longest at least the first.
    #[must_use]
    pub fn pauses(self, first: Duration, longest: Duration) -> RetryPolicy {
        let first = first.max(Duration::from_millis(1));
        RetryPolicy { first, longest: longest.max(first), ..self }
    }

    /// The ceiling of the first pause.
    #[must_use]
    pub const fn first_pause(&self) -> Duration {
        self.first
    }

    /// The ceiling of the longest pause.
    #[must_use]
    pub const fn longest_pause(&self) -> Duration {
        self.longest
    }

    /// How long to go on; `None` is without end.
    #[must_use]
    pub const fn patience(&self) -> Option<Duration> {
        self.patience
    }
}
