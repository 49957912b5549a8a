//! Asking the planner about a stream: owns what of the state it has to know. Never reads the store.

use kelda_format::rows::ObjectRefRow;
use kelda_format::{Offset, StreamId, Timestamp};
use kelda_meta::State;

use super::plan::{self, Around, Merge};
use crate::engine::Inner;
use crate::maintenance::retention::{self, Limits};

/// The share of `max_age` before its end in which a record is about to be given up.
const LEAVING_SHARE: u64 = 8;

impl Inner {
    /// The merges that a stream is in need of.
    pub(super) fn merges_of(&self, view: &State, stream: StreamId) -> Vec<Merge> {
        let Some(row) = view.stream(stream) else { return Vec::new() };
        let refs: Vec<ObjectRefRow> = view.refs(stream).copied().collect();
        if refs.len() < 2 && refs.first().is_none_or(|first| first.base >= row.start) {
            return Vec::new();
        }
        let around = Around {
            stream,
            segment_bytes: self.segment_bytes(view, stream),
            start: row.start,
            leaving: self.leaving(view, stream),
        };
        let damaged = &self.shared.upkeep.compaction.damaged;
        let fixed = |row: &ObjectRefRow| damaged.has(stream, row.object);
        let alone = |row: &ObjectRefRow| view.live_bytes(row.object) <= row.bytes.saturating_mul(2);
        plan::merges(&refs, &around, fixed, alone)
    }

    /// Bytes of a segment of a stream, after compaction.
    fn segment_bytes(&self, view: &State, stream: StreamId) -> u64 {
        view.retention(stream).segment_bytes.unwrap_or(self.shared.config.segment_bytes)
    }

    /// The offset before which the limits of a stream give up everything soon: within an eighth of its age, or after another
    /// segment.
    pub(super) fn leaving(&self, view: &State, stream: StreamId) -> Offset {
        let retention = view.retention(stream);
        let Some(row) = view.stream(stream).filter(|_| retention.is_bound()) else { return Offset::ZERO };
        let limits = Limits::of(&retention, self.shared.config.segment_bytes);
        let soon = limits.max_age_ms.map_or(0, |age| age / LEAVING_SHARE);
        let now = Timestamp(self.shared.now().0.saturating_add(soon));
        let bytes = row.bytes.saturating_add(limits.segment_bytes);
        retention::cut(view.refs(stream), bytes, &limits, now, true).unwrap_or(Offset::ZERO)
    }
}
