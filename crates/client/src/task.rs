//! The library's only way to start tasks: owns the calls that hand work to the runtime, so that nothing else does.
//! Guarantees that a task which panics is told from one that ended; never outlives the runtime.

use tokio::task::JoinHandle;

/// Runs `future` beside its caller.
#[expect(
    clippy::disallowed_methods,
    reason = "the client library has no environment to inject; this is its one spawn"
)]
pub(crate) fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    tokio::spawn(future)
}

/// Runs what blocks, on a thread that may.
#[expect(clippy::disallowed_methods, reason = "as above: a library without an environment")]
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}
