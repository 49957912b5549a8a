//! One node's world: owns the four ports that a node is handed and the helpers that need more than one of them.
//! Guarantees that a clone is the same world. Never holds a store: which store a node uses is configuration.

use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;

use crate::{Clock, Disk, DiskError, Elapsed, Random, RealClock, RealDisk, RealRandom, RealTasks};
use crate::{TaskEnd, TaskHandle, Tasks};

/// What one node may touch of the outside. Cheap to clone.
#[derive(Clone)]
pub struct Env {
    /// Wall clock, monotonic clock and timers.
    pub clock: Arc<dyn Clock>,
    /// Unpredictable numbers (seeded ones in a simulation).
    pub random: Arc<dyn Random>,
    /// Everything that runs beside the caller.
    pub tasks: Arc<dyn Tasks>,
    /// The data directory.
    pub disk: Arc<dyn Disk>,
}

impl Env {
    /// The real world, with `root` as the data directory, which is created when it is missing.
    ///
    /// # Errors
    /// The data directory cannot be created or opened.
    ///
    /// # Panics
    /// When called outside a tokio runtime: tasks run on the runtime of the caller.
    pub fn real(root: &Path) -> Result<Env, DiskError> {
        Ok(Env {
            clock: Arc::new(RealClock::new()),
            random: Arc::new(RealRandom),
            tasks: Arc::new(RealTasks::current()),
            disk: Arc::new(RealDisk::open(root)?),
        })
    }

    /// The real world, with the existing directory `root` as a data directory of which nothing can be changed.
    ///
    /// # Errors
    /// As [`RealDisk::open_read_only`].
    ///
    /// # Panics
    /// As [`Env::real`].
    pub fn real_read_only(root: &Path) -> Result<Env, DiskError> {
        let disk = Arc::new(RealDisk::open_read_only(root)?);
        Ok(Env {
            clock: Arc::new(RealClock::new()),
            random: Arc::new(RealRandom),
            tasks: Arc::new(RealTasks::current()),
            disk,
        })
    }

    /// The same world with another disk, for example one that injects faults.
    #[must_use]
    pub fn with_disk(&self, disk: Arc<dyn Disk>) -> Env {
        Env { disk, ..self.clone() }
    }

    /// Waits for `future`, at most `limit`.
    ///
    /// # Errors
    /// [`Elapsed`] when the limit passed first; the future is dropped then.
    pub async fn timeout<F: Future>(&self, limit: Duration, future: F) -> Result<F::Output, Elapsed> {
        crate::timeout(&*self.clock, limit, future).await
    }

    /// Starts `future` beside the caller. `name` is for logs and traces.
    pub fn spawn<F>(&self, name: &'static str, future: F) -> TaskHandle
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.tasks.spawn(name, future.boxed())
    }

    /// Runs a computation that may block (compression, `SQLite`) where it holds up no other task, and waits for its result.
    ///
    /// # Errors
    /// The computation panicked, or the runtime went down before it ran.
    pub fn blocking<T, F>(&self, name: &'static str, work: F) -> BoxFuture<'static, Result<T, TaskEnd>>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        let (answer, result) = tokio::sync::oneshot::channel();
        let handle = self.tasks.spawn_blocking(
            name,
            Box::new(move || {
                // A caller that went away does not want the result.
                let _ = answer.send(work());
            }),
        );
        async move {
            match result.await {
                Ok(value) => Ok(value),
                Err(_) => Err(handle.join().await.err().unwrap_or(TaskEnd::Aborted)),
            }
        }
        .boxed()
    }
}
