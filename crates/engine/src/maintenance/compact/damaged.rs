//! What compaction could not read: owns the memory of it. Guarantees one line in the log for each object and stream, that the
//! stream's part of the object is not tried again until the next start, and a bounded memory. Never decides what damage is.

use std::collections::BTreeMap;

use kelda_format::{ObjectId, Offset, StreamId};
use parking_lot::Mutex;

/// Ranges that are remembered; with more, nothing is compacted any more.
const MAX_DAMAGED: usize = 1024;

/// A range of a stream that cannot be read from its object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedRange {
    /// Key of the object.
    pub object: String,
    /// The stream.
    pub stream: StreamId,
    /// The first offset of the range.
    pub base: Offset,
    /// The offset after its last.
    pub end: Offset,
    /// What is wrong.
    pub detail: String,
}

/// All that are known.
#[derive(Debug, Default)]
pub(crate) struct Damaged(Mutex<BTreeMap<(StreamId, ObjectId), DamagedRange>>);

impl Damaged {
    pub(super) fn add(&self, object: ObjectId, range: DamagedRange) {
        let mut known = self.0.lock();
        if known.len() < MAX_DAMAGED && known.insert((range.stream, object), range.clone()).is_none() {
            tracing::error!(
                object = range.object,
                stream = range.stream.0,
                from = range.base.0,
                until = range.end.0,
                detail = range.detail,
                "compaction found damage and leaves this range as it is; the rest goes on"
            );
        }
    }

    pub(super) fn has(&self, stream: StreamId, object: ObjectId) -> bool {
        self.0.lock().contains_key(&(stream, object))
    }

    pub(super) fn is_full(&self) -> bool {
        self.0.lock().len() >= MAX_DAMAGED
    }

    /// All of them, by stream and object.
    pub(crate) fn all(&self) -> Vec<DamagedRange> {
        self.0.lock().values().cloned().collect()
    }
}
