//! Tasks on tokio and threads of the operating system. Guarantees that a thread drives its future with a runtime of its own
//! for timers, so that blocking in it holds up nobody. Never leaves a panic unseen: it is logged with the task's name.

use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use crate::tasks::{ended, observed, panicked};
use crate::{TaskHandle, Tasks};

/// Tasks on a tokio runtime.
pub struct RealTasks {
    runtime: Handle,
}

impl RealTasks {
    /// Tasks on the runtime of the caller.
    ///
    /// # Panics
    /// When called outside a tokio runtime.
    #[must_use]
    pub fn current() -> RealTasks {
        RealTasks { runtime: Handle::current() }
    }
}

impl Tasks for RealTasks {
    fn spawn(&self, name: &'static str, future: BoxFuture<'static, ()>) -> TaskHandle {
        let (handle, run) = observed(name, future);
        self.runtime.spawn(run);
        handle
    }

    /// # Panics
    /// When the operating system gives no thread or no timer.
    fn spawn_thread(&self, name: &'static str, future: BoxFuture<'static, ()>) -> TaskHandle {
        let (handle, run) = observed(name, future);
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                let runtime = Builder::new_current_thread().enable_time().build();
                runtime.expect("the operating system gives timers").block_on(run);
            })
            .expect("the operating system gives a thread");
        handle
    }

    fn spawn_blocking(&self, name: &'static str, work: Box<dyn FnOnce() + Send>) -> TaskHandle {
        let (sender, receiver) = oneshot::channel();
        let task = self.runtime.spawn_blocking(move || {
            let end = std::panic::catch_unwind(AssertUnwindSafe(work));
            let _ = sender.send(end.map_err(|payload| panicked(name, &*payload)));
        });
        TaskHandle::new(name, move || task.abort(), ended(receiver).boxed())
    }
}
