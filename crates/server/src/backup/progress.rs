//! How far a copy is.
//!
//! Owns the counters, which whoever shows progress looks at. Guarantees that looking never holds up the work. Never prints.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Looking at both sides.
    Looking,
    /// What is in the write-ahead log is being committed to objects.
    Committing,
    /// Objects are being copied.
    Copying,
    /// The copy is being verified.
    Verifying,
    /// Metadata and what makes the copy count are being written.
    Finishing,
}

impl Stage {
    const ALL: [Stage; 5] =
        [Stage::Looking, Stage::Committing, Stage::Copying, Stage::Verifying, Stage::Finishing];

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Stage::Looking => "looking",
            Stage::Committing => "committing",
            Stage::Copying => "copying",
            Stage::Verifying => "verifying",
            Stage::Finishing => "finishing",
        }
    }

    /// The stage of a word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Stage> {
        Stage::ALL.into_iter().find(|stage| stage.word() == word)
    }
}

/// How far a copy is at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// What is being done.
    pub stage: Stage,
    /// Objects that the copy needs; 0 until that is known.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Those that are there.
    pub done_objects: u64,
    /// Their bytes.
    pub done_bytes: u64,
}

/// The counters of one copy.
#[derive(Debug, Default)]
pub struct Progress {
    stage: AtomicU8,
    objects: AtomicU64,
    bytes: AtomicU64,
    done_objects: AtomicU64,
    done_bytes: AtomicU64,
}

impl Progress {
    /// How far it is.
    #[must_use]
    pub fn status(&self) -> Status {
        let stage = usize::from(self.stage.load(Relaxed)).min(Stage::ALL.len() - 1);
        Status {
            stage: Stage::ALL[stage],
            objects: self.objects.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            done_objects: self.done_objects.load(Relaxed),
            done_bytes: self.done_bytes.load(Relaxed),
        }
    }

    pub(super) fn enter(&self, stage: Stage) {
        let at = Stage::ALL.iter().position(|known| *known == stage).unwrap_or(0);
        self.stage.store(u8::try_from(at).unwrap_or(0), Relaxed);
    }

    pub(super) fn needs(&self, objects: u64, bytes: u64) {
        self.objects.store(objects, Relaxed);
        self.bytes.store(bytes, Relaxed);
    }

    pub(super) fn done(&self, bytes: u64) {
        self.done_objects.fetch_add(1, Relaxed);
        self.done_bytes.fetch_add(bytes, Relaxed);
    }
}
