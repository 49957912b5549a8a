//! What state the engine is in, for `/ready` and for refusing work: owns the one health cell, guarantees that
//! its latest value is the one shown, never decides anything itself.

use parking_lot::Mutex;

/// What the engine can do now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// Takes appends and reads.
    Ready,
    /// Replays the write-ahead log of a session that ended.
    Recovering {
        /// Segments that still wait to be replayed.
        segments_left: u64,
        /// Bytes that still wait to be replayed.
        bytes_left: u64,
    },
    /// No space for the write-ahead log: appends are refused, reads go on, space is awaited.
    DiskFull,
    /// The session ended and no new one could be started; only a restart helps.
    Ended {
        /// Why.
        reason: String,
    },
    /// A file is damaged; the engine refuses to guess.
    Damaged {
        /// Which file.
        file: String,
        /// Byte position in it.
        position: u64,
        /// What is wrong there.
        detail: String,
    },
}

/// The health of one engine, shared by its parts.
#[derive(Debug)]
pub(crate) struct HealthCell(Mutex<Health>);

impl HealthCell {
    pub(crate) fn new(health: Health) -> HealthCell {
        HealthCell(Mutex::new(health))
    }

    pub(crate) fn get(&self) -> Health {
        self.0.lock().clone()
    }

    pub(crate) fn set(&self, health: Health) {
        *self.0.lock() = health;
    }

    /// Enters or leaves the full state without hiding a graver one.
    pub(crate) fn set_disk_full(&self, full: bool) {
        let mut health = self.0.lock();
        match (&*health, full) {
            (Health::Ready, true) => *health = Health::DiskFull,
            (Health::DiskFull, false) => *health = Health::Ready,
            _ => {}
        }
    }
}
