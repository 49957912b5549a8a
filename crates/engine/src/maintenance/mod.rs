//! Maintenance: what keeps a node fit over years. Owns the task of an engine that applies limits, collects garbage and looks
//! at clock and disk. Guarantees that none of it runs on a request's way, and that an idle node asks the store for nothing
//! because of it. Never decides what a client may see.

pub(crate) mod clock;
pub(crate) mod compact;
pub(crate) mod config;
pub(crate) mod garbage;
pub(crate) mod grown;
pub(crate) mod retention;
pub(crate) mod space;

use std::sync::Arc;
use std::time::Duration;

use kelda_env::Env;
use kelda_format::StreamId;
use kelda_meta::State;
use tokio::sync::Semaphore;

use crate::engine::Inner;
use clock::{ClockFault, ClockGuard};
use compact::{Compaction, DamagedRange};
use garbage::Garbage;
use grown::Grown;
use space::SpaceGuard;

/// What maintenance shares with the rest of the engine.
pub(crate) struct Upkeep {
    pub(crate) clock: ClockGuard,
    pub(crate) space: SpaceGuard,
    /// Streams that a commit moved on and whose limits were not looked at since.
    pub(crate) grown: Grown,
    pub(crate) garbage: Garbage,
    pub(crate) compaction: Compaction,
    /// When the engine started, on the monotonic clock.
    pub(crate) started: Duration,
    /// One round at a time of each kind, be it the task's or one that was asked for.
    limits_turn: Semaphore,
    garbage_turn: Semaphore,
    compact_turn: Semaphore,
}

/// What an operator should know of the maintenance of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MaintenanceReport {
    /// The wall clock is wrong: expiry, retention, collection and compaction wait.
    pub clock: Option<ClockFault>,
    /// Less of the disk is free than is held back.
    pub low_space: bool,
    /// How many objects are there although the store said that it deleted them, and the key of one.
    pub undeleted: Option<(usize, String)>,
    /// What compaction found damaged since the start. It is left as it is.
    pub damaged: Vec<DamagedRange>,
}

impl Upkeep {
    pub(crate) fn new(env: &Env) -> Upkeep {
        Upkeep {
            clock: ClockGuard::new(Arc::clone(&env.clock)),
            space: SpaceGuard::default(),
            grown: Grown::default(),
            garbage: Garbage::default(),
            compaction: Compaction::default(),
            started: env.clock.monotonic(),
            limits_turn: Semaphore::new(1),
            garbage_turn: Semaphore::new(1),
            compact_turn: Semaphore::new(1),
        }
    }
}

/// Applies limits and collects garbage until the engine stops. None of the parts waits for another: a store that hangs does
/// not keep limits from being applied.
pub(crate) async fn keep(engine: Arc<Inner>) {
    let mut stopping = engine.stopping();
    tokio::select! {
        biased;
        _ = stopping.wait_for(|stopping| *stopping) => {}
        () = engine.watch_space() => {}
        () = engine.keep_limits() => {}
        () = engine.keep_clean() => {}
    }
}

/// Compacts until the engine stops, on a thread of its own, since it moves many bytes.
pub(crate) async fn compact(engine: Arc<Inner>) {
    let mut stopping = engine.stopping();
    tokio::select! {
        biased;
        _ = stopping.wait_for(|stopping| *stopping) => {}
        () = engine.keep_compact() => {}
    }
}

impl Upkeep {
    /// Takes in that a commit moved streams on.
    pub(crate) fn committed(&self, view: &State, streams: &[StreamId]) {
        self.compaction.changed.add(streams.iter().copied());
        self.grown.add(streams.iter().copied().filter(|stream| view.retention(*stream).is_bound()));
    }

    /// What an operator should know.
    pub(crate) fn report(&self) -> MaintenanceReport {
        MaintenanceReport {
            clock: self.clock.fault(),
            low_space: self.space.is_low(),
            undeleted: self.garbage.undeleted(),
            damaged: self.compaction.damaged.all(),
        }
    }
}

impl Inner {
    /// Looks at the limits of all streams now and then, and after every commit at those of the streams in it.
    async fn keep_limits(&self) {
        let interval = self.shared.config.maintenance.retention_interval;
        let clock = &self.shared.env.clock;
        let mut next = clock.monotonic();
        loop {
            let left = next.saturating_sub(clock.monotonic());
            tokio::select! {
                biased;
                () = clock.sleep(left) => {
                    if let Some(fault) = self.shared.upkeep.clock.fault() {
                        tracing::warn!(%fault, "expiry, retention and collection wait until the clock is right");
                    }
                    self.apply_limits().await;
                    next = clock.monotonic() + interval;
                }
                () = self.shared.upkeep.grown.any() => {
                    let _turn = self.shared.upkeep.limits_turn.acquire().await;
                    self.retain_touched().await;
                }
            }
        }
    }

    /// Looks at the garbage now and then.
    async fn keep_clean(&self) {
        loop {
            self.shared.env.clock.sleep(self.shared.config.maintenance.garbage_interval).await;
            self.clean_up(false).await;
        }
    }

    /// One round over everything.
    pub(crate) async fn keep_once(&self) {
        self.apply_limits().await;
        self.compact_all().await;
        self.clean_up(true).await;
    }

    async fn apply_limits(&self) {
        let _turn = self.shared.upkeep.limits_turn.acquire().await;
        self.retain_all().await;
    }

    async fn clean_up(&self, asked: bool) {
        let _turn = self.shared.upkeep.garbage_turn.acquire().await;
        self.collect_garbage(asked).await;
    }
}
