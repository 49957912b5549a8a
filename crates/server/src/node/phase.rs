//! How far a node is.

use std::sync::Arc;

use kelda_engine::HealthCell;
use parking_lot::Mutex;

/// How far a node is between its start and its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It reads its metadata.
    Opening,
    /// It replays what the run before left in its write-ahead log.
    Recovering,
    /// It serves.
    Serving,
    /// It finishes what is in flight.
    Stopping,
}

/// The phase, shared by a node and its admin listener.
#[derive(Debug)]
pub struct PhaseCell {
    phase: Mutex<Phase>,
    engine: Arc<HealthCell>,
}

impl PhaseCell {
    /// A node that begins.
    #[must_use]
    pub fn new() -> PhaseCell {
        PhaseCell { phase: Mutex::new(Phase::Opening), engine: Arc::default() }
    }

    /// How far the node is.
    #[must_use]
    pub fn get(&self) -> Phase {
        *self.phase.lock()
    }

    /// How far the engine is, from before it has started.
    #[must_use]
    pub fn engine(&self) -> &Arc<HealthCell> {
        &self.engine
    }

    /// It got further.
    pub(super) fn set(&self, phase: Phase) {
        *self.phase.lock() = phase;
    }
}

impl Default for PhaseCell {
    fn default() -> PhaseCell {
        PhaseCell::new()
    }
}
