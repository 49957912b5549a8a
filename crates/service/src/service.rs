//! The service itself: owns what all operations share. A clone is the same service.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kelda_engine::{ClockFault, Engine, Health, MaintenanceReport};
use kelda_env::{Env, TaskHandle};
use kelda_format::Timestamp;
use kelda_meta::Meta;
use parking_lot::Mutex;

use crate::expiry::Deadlines;
use crate::flight::Flights;
use crate::leftover::Leftovers;
use crate::{restart, timer};

/// Bounds of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceConfig {
    /// Creations that may be in flight at once, those that wait for one of the same name included.
    pub max_creations: usize,
    /// Streams that one pass of the expiry timer removes at once.
    pub expiry_batch: usize,
}

impl Default for ServiceConfig {
    fn default() -> ServiceConfig {
        ServiceConfig { max_creations: 4096, expiry_batch: 128 }
    }
}

/// What the service keeps in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gauges {
    /// Streams that have an expiry.
    pub deadlines: usize,
    /// Creations in flight.
    pub creations: usize,
    /// Creations that were left unfinished and are not cleared up yet.
    pub leftovers: usize,
}

/// Named streams, as every front end calls them.
#[derive(Clone)]
pub struct Service {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) env: Env,
    pub(crate) meta: Arc<dyn Meta>,
    pub(crate) engine: Engine,
    pub(crate) config: ServiceConfig,
    pub(crate) flights: Arc<Flights>,
    pub(crate) deadlines: Arc<Deadlines>,
    pub(crate) leftovers: Leftovers,
    timer: Mutex<Option<TaskHandle>>,
    /// Set when nothing should be waited for any more.
    pub(crate) stopping: AtomicBool,
}

impl Service {
    /// A service over an engine that is ready. Takes up the deadlines of existing streams and starts the one
    /// task that expires streams.
    #[must_use]
    pub fn new(env: Env, meta: Arc<dyn Meta>, engine: Engine, config: ServiceConfig) -> Service {
        let inner = Arc::new(Inner {
            env,
            meta,
            engine,
            config,
            flights: Flights::new(config.max_creations),
            deadlines: Arc::default(),
            leftovers: Leftovers::default(),
            timer: Mutex::new(None),
            stopping: AtomicBool::new(false),
        });
        restart::take_up(&inner);
        let task = timer::run(Arc::downgrade(&inner), inner.env.clone(), Arc::clone(&inner.deadlines));
        *inner.timer.lock() = Some(inner.env.spawn("expiry", task));
        Service { inner }
    }

    /// Stops expiring and persists the sliding deadlines that moved, so that a clean restart knows them.
    /// The engine is shut down after this, by whoever started it.
    pub async fn shutdown(&self) {
        self.inner.stopping.store(true, Ordering::Relaxed);
        let timer = self.inner.timer.lock().take();
        if let Some(timer) = timer {
            timer.abort();
            // Aborted is what it should be.
            let _ = timer.join().await;
        }
        self.inner.persist_deadlines().await;
    }

    /// What the engine can do now.
    #[must_use]
    pub fn health(&self) -> Health {
        self.inner.engine.health()
    }

    /// How much the service keeps in memory, for metrics. None of it grows with names that do not exist.
    #[must_use]
    pub fn gauges(&self) -> Gauges {
        Gauges {
            deadlines: self.inner.deadlines.lock().len(),
            creations: self.inner.flights.users(),
            leftovers: self.inner.leftovers.len(),
        }
    }

    /// What an operator should know of the maintenance of this node.
    #[must_use]
    pub fn maintenance(&self) -> MaintenanceReport {
        self.inner.engine.maintenance()
    }

    /// What is wrong with the wall clock, if anything is: streams are not expired, limits not applied and garbage not
    /// collected until it is right again.
    #[must_use]
    pub fn clock_fault(&self) -> Option<ClockFault> {
        self.inner.engine.clock_fault()
    }
}

impl Inner {
    pub(crate) fn clock_is_suspect(&self) -> bool {
        self.engine.clock_fault().is_some()
    }

    /// The time for entries, deadlines and answers.
    pub(crate) fn now(&self) -> Timestamp {
        self.engine.now()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(timer) = self.timer.lock().take() {
            timer.abort();
        }
    }
}
