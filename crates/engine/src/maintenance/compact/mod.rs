//! Compaction: owns the rewriting of objects so that a stream has few large ones. Guarantees that offsets, times and bytes of
//! records stay, that its memory is bounded whatever it merges, that what retention is about to give up is not moved, and that
//! damage is left where it is and named (P13, P14). Never deletes anything: what nothing refers to any more is queued by the log.

mod around;
mod copy;
mod damaged;
mod plan;
mod run;
mod sparse;

use std::collections::{BTreeMap, BTreeSet};

use kelda_format::{ObjectId, StreamId};
use parking_lot::Mutex;

pub(crate) use damaged::Damaged;
pub use damaged::DamagedRange;
pub use plan::LOOSE_REFS;

use super::grown::Grown;

/// What compaction remembers from round to round.
#[derive(Debug, Default)]
pub(crate) struct Compaction {
    /// Streams whose references changed since they were last looked at.
    pub(crate) changed: Grown,
    /// What could not be read.
    pub(crate) damaged: Damaged,
    progress: Mutex<Progress>,
}

#[derive(Debug, Default)]
struct Progress {
    /// Up to where all streams were looked at once since the start; none when all were.
    walk: Walk,
    /// Streams whose compaction failed, for the next time.
    later: BTreeSet<StreamId>,
    /// Objects with few live bytes that were looked at, and how many those were then. Bounded by the objects there are.
    sparse_seen: BTreeMap<ObjectId, u64>,
    /// The index of the log up to which objects were looked at.
    seen_index: u64,
    /// Numbers the files that are written.
    files: u64,
}

/// The walk over the streams that were there at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Walk {
    From(StreamId),
    Ended,
}

impl Default for Walk {
    fn default() -> Walk {
        Walk::From(StreamId(0))
    }
}
