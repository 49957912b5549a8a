//! Garbage: owns what becomes of objects that nothing refers to. Guarantees two phases (the log queues, this deletes and then
//! says so), that a delete is believed only when the object is gone, and that an idle node asks the store for nothing. Never
//! deletes what a stream or a fork can read (P13, P14), never a seal (P6).

mod collect;
mod expire;
mod plan;
mod sweep;

use std::collections::BTreeMap;
use std::time::Duration;

use kelda_format::ObjectId;
use parking_lot::Mutex;

/// What the collection remembers from round to round.
#[derive(Debug, Default)]
pub(crate) struct Garbage {
    /// Objects that were there after their deletion was answered. Bounded by the destroy queue.
    stubborn: Mutex<BTreeMap<ObjectId, Stubborn>>,
    /// The searches for orphans.
    sweeps: Mutex<Sweeps>,
}

/// An object that does not go.
#[derive(Clone, Debug)]
struct Stubborn {
    key: String,
    /// When, on the monotonic clock, it is tried again, and the pause before that.
    again: Duration,
    pause: Duration,
}

/// When was searched for orphans, and when may be again.
#[derive(Clone, Copy, Debug, Default)]
struct Sweeps {
    /// When the last search began, on the monotonic clock; none since the start.
    last: Option<Duration>,
    /// The next object id when it was looked at last: another one means that objects were written since.
    next_object: Option<u64>,
}

impl Garbage {
    /// How many objects are there after their deletion was answered, and one of them.
    pub(crate) fn undeleted(&self) -> Option<(usize, String)> {
        let stubborn = self.stubborn.lock();
        let first = stubborn.values().next()?;
        Some((stubborn.len(), first.key.clone()))
    }
}
