//! Everything that runs beside the caller: owns the port for tasks and threads and the handle to wait for one or end it.
//! Guarantees that a task's end is visible to whoever joins, a panic included. Never ends a task because its handle was
//! dropped.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::{AbortHandle, Abortable, BoxFuture, Shared};
use tokio::sync::oneshot;

/// Starts work beside the caller.
pub trait Tasks: Send + Sync + 'static {
    /// Runs `future` on the shared executor. It must not block.
    fn spawn(&self, name: &'static str, future: BoxFuture<'static, ()>) -> TaskHandle;

    /// Runs `future` on an operating system thread of its own, where it may block. In a simulation it is a task like any
    /// other.
    fn spawn_thread(&self, name: &'static str, future: BoxFuture<'static, ()>) -> TaskHandle;

    /// Runs `work` once on a pool of threads where it may block. It cannot be aborted once it has begun. In a simulation it
    /// runs as one step of a task.
    fn spawn_blocking(&self, name: &'static str, work: Box<dyn FnOnce() + Send>) -> TaskHandle;
}

/// How a task ended, other than by finishing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TaskEnd {
    /// It was aborted, or its runtime went down.
    #[error("the task was aborted")]
    Aborted,
    /// It panicked with this message.
    #[error("the task panicked: {0}")]
    Panicked(String),
}

/// A running task. Dropping the handle leaves the task running.
#[derive(Clone)]
pub struct TaskHandle {
    name: &'static str,
    abort: Arc<dyn Fn() + Send + Sync>,
    end: Shared<BoxFuture<'static, Result<(), TaskEnd>>>,
}

impl TaskHandle {
    /// A handle made of what aborts the task and what resolves when it ended; for implementations of [`Tasks`].
    pub fn new(
        name: &'static str,
        abort: impl Fn() + Send + Sync + 'static,
        end: BoxFuture<'static, Result<(), TaskEnd>>,
    ) -> TaskHandle {
        TaskHandle { name, abort: Arc::new(abort), end: end.shared() }
    }

    /// The name that the task was started with.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Asks the task to end at its next await. It has ended when [`TaskHandle::join`] resolves.
    pub fn abort(&self) {
        (self.abort)();
    }

    /// Waits for the end of the task; may be called any number of times.
    ///
    /// # Errors
    /// The task was aborted or panicked.
    pub async fn join(&self) -> Result<(), TaskEnd> {
        self.end.clone().await
    }
}

/// Makes `future` one that can be aborted and that reports its end, a panic included. The end is reported after the future
/// was dropped, so that whoever joins finds its resources released.
pub(crate) fn observed(
    name: &'static str,
    future: BoxFuture<'static, ()>,
) -> (TaskHandle, BoxFuture<'static, ()>) {
    let (sender, receiver) = oneshot::channel();
    let (abort, registration) = AbortHandle::new_pair();
    let run = async move {
        let caught = AssertUnwindSafe(future).catch_unwind();
        let end = match Abortable::new(caught, registration).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(payload)) => Err(panicked(name, &*payload)),
            Err(_) => Err(TaskEnd::Aborted),
        };
        // Nobody may be waiting for it.
        let _ = sender.send(end);
    };
    (TaskHandle::new(name, move || abort.abort(), ended(receiver).boxed()), run.boxed())
}

/// What resolves with the end that a task reports; a sender that vanishes means that its runtime went down.
pub(crate) async fn ended(receiver: oneshot::Receiver<Result<(), TaskEnd>>) -> Result<(), TaskEnd> {
    receiver.await.unwrap_or(Err(TaskEnd::Aborted))
}

/// The end of a task that panicked; logs it.
pub(crate) fn panicked(name: &'static str, payload: &(dyn Any + Send)) -> TaskEnd {
    let message = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned());
    tracing::error!(task = name, %message, "a task panicked");
    TaskEnd::Panicked(message)
}
