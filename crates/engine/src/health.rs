//! What state the engine is in, for `/ready` and for refusing work: owns the one health cell, guarantees that
//! its latest value is the one shown, never decides anything itself.

use std::sync::atomic::{AtomicBool, Ordering};

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

/// The health of one engine, shared by its parts and whoever shows it.
#[derive(Debug)]
pub struct HealthCell {
    state: Mutex<Health>,
    /// The write-ahead log finds no space.
    wal_full: AtomicBool,
    /// Less is free than is held back.
    low_space: AtomicBool,
}

impl Default for HealthCell {
    /// That of an engine which has not started.
    fn default() -> HealthCell {
        HealthCell {
            state: Mutex::new(Health::Recovering { segments_left: 0, bytes_left: 0 }),
            wal_full: AtomicBool::new(false),
            low_space: AtomicBool::new(false),
        }
    }
}

impl HealthCell {
    /// What there is to say; that space is wanting does not hide what is graver.
    #[must_use]
    pub fn get(&self) -> Health {
        let state = self.state.lock().clone();
        let full = self.wal_full.load(Ordering::Relaxed) || self.low_space.load(Ordering::Relaxed);
        if state == Health::Ready && full { Health::DiskFull } else { state }
    }

    pub(crate) fn set(&self, health: Health) {
        *self.state.lock() = health;
    }

    /// Whether the write-ahead log finds no space.
    pub(crate) fn set_disk_full(&self, full: bool) {
        self.wal_full.store(full, Ordering::Relaxed);
    }

    /// Whether less is free than is held back.
    pub(crate) fn set_low_space(&self, low: bool) {
        self.low_space.store(low, Ordering::Relaxed);
    }
}
