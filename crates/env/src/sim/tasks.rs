//! A node's tasks: owns the list of them, so that a crash can end them. Guarantees that nothing of a node runs after it went
//! down. Never runs two at once: all share one thread.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;

use super::world::World;
use crate::tasks::observed;
use crate::{TaskEnd, TaskHandle, Tasks};

/// One run of a node, from its start to its crash.
pub(super) struct Life {
    alive: AtomicBool,
    tasks: Mutex<Vec<(TaskHandle, tokio::task::AbortHandle)>>,
}

impl Life {
    pub(super) fn new() -> Arc<Life> {
        Arc::new(Life { alive: AtomicBool::new(true), tasks: Mutex::default() })
    }

    pub(super) fn is_alive(&self) -> bool {
        self.alive.load(Ordering::Relaxed)
    }

    /// Ends the life and all its tasks; none of them is polled again. Resolves when their futures are dropped.
    pub(super) async fn end(&self) {
        self.alive.store(false, Ordering::Relaxed);
        let tasks = std::mem::take(&mut *self.tasks.lock());
        for (_, abort) in &tasks {
            abort.abort();
        }
        for (handle, _) in tasks {
            // Every end is fine here; panics were recorded when they happened.
            let _ = handle.join().await;
        }
    }
}

pub(super) struct SimTasks {
    pub(super) world: Arc<World>,
    pub(super) life: Arc<Life>,
}

impl SimTasks {
    fn start(&self, name: &'static str, future: BoxFuture<'static, ()>) -> TaskHandle {
        if !self.life.is_alive() {
            return TaskHandle::new(name, || {}, async { Err(TaskEnd::Aborted) }.boxed());
        }
        let (handle, run) = observed(name, future);
        let watched = {
            let (handle, world) = (handle.clone(), self.world.clone());
            async move {
                run.await;
                if let Err(TaskEnd::Panicked(message)) = handle.join().await {
                    world.panics.lock().push(format!("{name}: {message}"));
                }
            }
        };
        let paced = Paced { inner: watched.boxed(), world: self.world.clone(), life: self.life.clone() };
        let abort = tokio::spawn(paced).abort_handle();
        let mut tasks = self.life.tasks.lock();
        tasks.retain(|(_, abort)| !abort.is_finished());
        tasks.push((handle.clone(), abort));
        handle
    }
}

impl Tasks for SimTasks {
    fn spawn(&self, name: &'static str, future: BoxFuture<'static, ()>) -> TaskHandle {
        self.start(name, future)
    }

    fn spawn_thread(&self, name: &'static str, future: BoxFuture<'static, ()>) -> TaskHandle {
        self.start(name, future)
    }

    fn spawn_blocking(&self, name: &'static str, work: Box<dyn FnOnce() + Send>) -> TaskHandle {
        self.start(name, async move { work() }.boxed())
    }
}

/// A task that now and then lets the others run first, and that a dead node never runs.
struct Paced {
    inner: BoxFuture<'static, ()>,
    world: Arc<World>,
    life: Arc<Life>,
}

impl Future for Paced {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if !self.life.is_alive() {
            return Poll::Ready(());
        }
        let chance = self.world.plan.lock().task_yield;
        // Never always: a task must get its turn in the end.
        if self.world.fate.chance(chance.min(0.9)) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.inner.poll_unpin(context)
    }
}
