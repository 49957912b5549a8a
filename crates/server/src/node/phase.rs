//! How far a node is.

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
pub struct PhaseCell(Mutex<Phase>);

impl PhaseCell {
    /// A node that begins.
    #[must_use]
    pub fn new() -> PhaseCell {
        PhaseCell(Mutex::new(Phase::Opening))
    }

    /// How far the node is.
    #[must_use]
    pub fn get(&self) -> Phase {
        *self.0.lock()
    }

    /// It got further.
    pub(super) fn set(&self, phase: Phase) {
        *self.0.lock() = phase;
    }
}

impl Default for PhaseCell {
    fn default() -> PhaseCell {
        PhaseCell::new()
    }
}
