//! Time as a node sees it: owns the port for wall clock, monotonic clock and timers. Guarantees that `monotonic` never
//! goes back. Never promises that the wall clock does not: it may jump either way at any moment.

use std::future::Future;
use std::time::Duration;

use futures::future::BoxFuture;

/// The clocks and timers of one node.
pub trait Clock: Send + Sync + 'static {
    /// The wall clock in milliseconds since the Unix epoch. It may jump in both directions.
    fn now(&self) -> u64;

    /// Time since an arbitrary fixed moment; never goes back and never jumps.
    fn monotonic(&self) -> Duration;

    /// As [`Clock::monotonic`], and passes while the machine sleeps too, as the wall clock does: a laptop that was closed for
    /// a night did not have its clock set.
    fn monotonic_asleep(&self) -> Duration;

    /// Resolves when `duration` of monotonic time has passed; never earlier.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;
}

/// The time limit of a wait passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the time limit of {0:?} passed")]
pub struct Elapsed(
    /// The limit.
    pub Duration,
);

/// Waits for `future`, at most `limit` on `clock`. A future that is ready at the limit wins.
///
/// # Errors
/// [`Elapsed`] when the limit passed first; the future is dropped then.
pub async fn timeout<F: Future>(clock: &dyn Clock, limit: Duration, future: F) -> Result<F::Output, Elapsed> {
    tokio::select! {
        biased;
        value = future => Ok(value),
        () = clock.sleep(limit) => Err(Elapsed(limit)),
    }
}
