//! The world of a measurement: owns its clock, its randomness and its tasks. Guarantees that of tasks which belong together
//! the first failure ends all. Never blocks.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use kelda_env::{Clock, Random, RealClock, RealRandom, RealTasks, TaskHandle, Tasks};
use tokio::sync::oneshot;

use crate::exit::Failure;

/// Clock, randomness and tasks. Cheap to clone.
#[derive(Clone)]
pub struct World {
    pub clock: Arc<dyn Clock>,
    pub random: Arc<dyn Random>,
    pub tasks: Arc<dyn Tasks>,
}

impl World {
    /// The real world, on the runtime of the caller.
    pub fn new() -> World {
        World {
            clock: Arc::new(RealClock::new()),
            random: Arc::new(RealRandom),
            tasks: Arc::new(RealTasks::current()),
        }
    }

    /// Monotonic time in nanoseconds.
    pub fn nanos(&self) -> u64 {
        nanos(self.clock.monotonic())
    }

    /// Runs all of `work` at once, each as a task, and gives their results in any order.
    pub async fn together<T, F>(&self, name: &'static str, work: Vec<F>) -> Result<Vec<T>, Failure>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Failure>> + Send + 'static,
    {
        let mut results = FuturesUnordered::new();
        let mut running = Running(Vec::with_capacity(work.len()));
        for part in work {
            let (answer, result) = oneshot::channel();
            let future = async move {
                // Whoever waited may have given up.
                let _ = answer.send(part.await);
            };
            running.0.push(self.tasks.spawn(name, Box::pin(future)));
            results.push(result);
        }
        let mut done = Vec::with_capacity(results.len());
        while let Some(result) = results.next().await {
            done.push(result.map_err(|_| Failure::local(format!("{name}: a task ended early")))??);
        }
        Ok(done)
    }

    /// Runs `work` on a thread of its own, where it may block.
    pub async fn aside<T, F>(&self, name: &'static str, work: F) -> Result<T, Failure>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let (answer, result) = oneshot::channel();
        let future = async move {
            // Whoever waited may have given up.
            let _ = answer.send(work.await);
        };
        let _thread = self.tasks.spawn_thread(name, Box::pin(future));
        result.await.map_err(|_| Failure::local(format!("{name}: the thread ended early")))
    }
}

/// A duration in nanoseconds; a measurement is shorter than the 584 years that fit.
pub fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Tasks that end when this is dropped.
#[derive(Default)]
pub struct Running(pub Vec<TaskHandle>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.iter().for_each(TaskHandle::abort);
    }
}
