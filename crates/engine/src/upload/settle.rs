//! What follows an applied commit, for every kind of write-ahead log: owns the committed records that are still in the log
//! cache. Guarantees that the cache keeps no more of them than its bound, and that a stream learns of a commit only when the
//! view has it. Never proposes.

use std::collections::VecDeque;
use std::sync::Arc;

use kelda_format::{Offset, StreamId};

use super::plan::SegmentSummary;
use crate::session::Session;
use crate::stream::registry::Registry;

/// Committed segments or ranges whose records are still in the log cache, oldest first. Bounded by `cache_tail_bytes`.
#[derive(Default)]
pub(crate) struct CachedTail {
    segments: VecDeque<(Vec<(StreamId, Offset)>, u64)>,
    bytes: u64,
}

impl CachedTail {
    /// Takes in what a commit covered: tells the streams and evicts what is too much.
    pub(crate) fn committed(
        &mut self,
        session: &Session,
        streams: &Arc<Registry>,
        summary: &SegmentSummary,
        bytes: u64,
    ) {
        let view = session.shared.meta.view();
        let written: Vec<StreamId> = summary.streams().map(|(id, _)| id).collect();
        session.shared.upkeep.committed(&view, &written);
        let mut ends = Vec::new();
        for (id, summary) in summary.streams() {
            let Some(stream) = streams.get(id) else { continue };
            let end = summary.end.or_else(|| view.stream(id).map(|row| row.end)).unwrap_or(Offset::ZERO);
            stream.committed(end, summary.entries);
            ends.push((id, end));
        }
        self.bytes += bytes;
        self.segments.push_back((ends, bytes));
        self.evict(session.shared.config.cache_tail_bytes, streams);
    }

    fn evict(&mut self, max_bytes: u64, streams: &Registry) {
        while self.bytes > max_bytes {
            let Some((ends, bytes)) = self.segments.pop_front() else { return };
            self.bytes -= bytes;
            for (id, end) in ends {
                if let Some(stream) = streams.get(id) {
                    stream.state.lock().cache.evict_through(end);
                }
            }
        }
    }
}
