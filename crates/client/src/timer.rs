//! The client's only timer: owns the calls that wait or look at the time, so that nothing else in the library reads a
//! clock. Guarantees that a wait ends at its limit. Never promises that what was waited for did not happen.

use std::time::Duration;

use tokio::time::Instant;

/// Waits for `pause`.
#[expect(
    clippy::disallowed_methods,
    reason = "the client library has no environment to inject; this is its one timer"
)]
pub(crate) async fn sleep(pause: Duration) {
    tokio::time::sleep(pause).await;
}

/// What `future` gives, or nothing when it takes longer than `limit`; it is dropped then.
#[expect(
    clippy::disallowed_methods,
    reason = "the client library has no environment to inject; this is its one timer"
)]
pub(crate) async fn within<F: Future>(limit: Duration, future: F) -> Option<F::Output> {
    tokio::time::timeout(limit, future).await.ok()
}

/// Measures how long something took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "as above: a library without an environment")]
    pub(crate) fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    #[expect(clippy::disallowed_methods, reason = "as above: a library without an environment")]
    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}
