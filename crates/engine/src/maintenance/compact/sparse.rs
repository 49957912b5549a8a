//! Objects of which little is left: owns finding them, and what of them can be moved. Guarantees that one is looked into only
//! when what is left changed, so that an idle node asks the store for nothing. Never moves what a fork shares.

use kelda_format::keys::data_key;
use kelda_format::rows::ObjectRow;
use kelda_format::{ObjectId, StreamId};
use kelda_meta::State;

use super::plan::Merge;
use crate::engine::Inner;
use crate::objects::Source;

/// An object is worth it when at most one part in so many of it is left,
const LEFT_SHARE: u64 = 4;

/// and when it has at least one part in so many of a segment.
const SEGMENT_SHARE: u64 = 16;

/// Objects looked into per round.
const OBJECTS_PER_ROUND: usize = 64;

impl Inner {
    /// What to move so that objects with little in them can go.
    pub(super) async fn merges_of_sparse(&self, view: &State) -> Vec<(StreamId, Merge)> {
        let mut merges = Vec::new();
        for object in self.sparse_objects(view) {
            merges.extend(self.left_in(view, object).await);
        }
        merges.sort_by_key(|(stream, merge)| (*stream, merge.inputs.first().map(|row| row.base)));
        merges
    }

    /// The objects that are worth it and were not looked into with as many bytes left.
    fn sparse_objects(&self, view: &State) -> Vec<ObjectId> {
        let least = self.shared.config.segment_bytes / SEGMENT_SHARE;
        let sparse = |row: &&ObjectRow| {
            row.bytes >= least && view.live_bytes(row.id).saturating_mul(LEFT_SHARE) <= row.bytes
        };
        let mut progress = self.shared.upkeep.compaction.progress.lock();
        if progress.seen_index == view.applied() {
            return Vec::new();
        }
        progress.sparse_seen.retain(|object, _| view.object(*object).is_some());
        let seen = &mut progress.sparse_seen;
        let fresh =
            view.objects().filter(sparse).filter(|row| seen.get(&row.id) != Some(&view.live_bytes(row.id)));
        let found: Vec<ObjectId> = fresh.map(|row| row.id).take(OBJECTS_PER_ROUND).collect();
        for object in &found {
            seen.insert(*object, view.live_bytes(*object));
        }
        if found.len() < OBJECTS_PER_ROUND {
            progress.seen_index = view.applied();
        }
        found
    }

    /// Everything that streams hold in an object, if all of it can be moved.
    async fn left_in(&self, view: &State, object: ObjectId) -> Vec<(StreamId, Merge)> {
        let Some(row) = view.object(object) else { return Vec::new() };
        let key = data_key(view.cluster(), object);
        let known = Source::unknown(object, &key, row.bytes);
        let source = Source { kind: row.kind, streams: row.refs, ..known };
        // Who reads it meets the error too, and reports it.
        let Ok(index) = self.shared.objects.index(view.cluster(), &source).await else { return Vec::new() };
        let damaged = &self.shared.upkeep.compaction.damaged;
        let mut found = Vec::new();
        for entry in &index.streams {
            let stream = entry.stream;
            let Some(first) = entry.extents.first() else { continue };
            let end = entry.extents.last().map_or(first.end, |extent| extent.end);
            let leaving = self.leaving(view, stream);
            for row in view.refs_between(stream, first.base, end).filter(|row| row.object == object) {
                if row.end <= leaving || row.source != stream || damaged.has(stream, object) {
                    return Vec::new();
                }
                found.push((stream, Merge { inputs: vec![*row], bytes: row.bytes }));
            }
        }
        // Others refer to it too: a fork does not see its bytes freed.
        if found.len() == row.refs as usize { found } else { Vec::new() }
    }
}
