//! Reading ahead of a reader in sequence: owns the choice what to fetch before anybody asks. Guarantees that a reader which
//! jumps about causes none of it, that it goes on across objects, stays within the reader's window and the bytes that may
//! be in flight, and never waits for room. Never reports an error: who needs the page meets it.

use std::ops::Range;
use std::sync::Arc;

use kelda_format::object::ObjectIndex;
use kelda_format::rows::ObjectRefRow;
use kelda_format::{ClusterId, Offset, StreamId};
use kelda_meta::State;
use tokio::sync::OwnedSemaphorePermit;

use super::lead::Lead;
use super::load_cache::Begin;
use super::page::{Page, PageKey};
use super::{ObjectReader, Source, plan};

/// References that are looked at ahead of one reader: where they are small, less is read ahead.
const MAX_REFS: usize = 32;

/// Something to fetch before it is asked for.
pub(crate) struct Ahead {
    cluster: ClusterId,
    source: Source,
    what: What,
}

enum What {
    /// The index, and the first pages of these offsets.
    Start { wanted: Range<Offset>, bytes: u64 },
    /// These extents.
    Pages { index: Arc<ObjectIndex>, extents: Range<usize>, room: OwnedSemaphorePermit },
}

impl ObjectReader {
    /// What a reader of `stream` that goes on at `next` will want next and nobody fetched yet. Each may be fetched at the
    /// same time as the others.
    pub(crate) fn ahead(&self, view: &State, stream: StreamId, next: Offset) -> Vec<Ahead> {
        let Some(goal) = self.sequences.goal(stream, next) else { return Vec::new() };
        let mut lead = Lead::new(goal);
        let mut found = Vec::new();
        let mut at = next;
        for _ in 0..MAX_REFS {
            let Some(row) = view.object_at(stream, at).filter(|_| lead.wants_more()) else { break };
            let Ok(source) = Source::of(view, row) else { break };
            self.ahead_in(view.cluster(), &source, row, at, &mut lead, &mut found);
            at = row.end;
        }
        self.sequences.fetched(stream, next, lead.fetched());
        found
    }

    /// Adds what is to be fetched of one reference, which the reader gets to at `at`.
    fn ahead_in(
        &self,
        cluster: ClusterId,
        source: &Source,
        row: &ObjectRefRow,
        at: Offset,
        lead: &mut Lead,
        found: &mut Vec<Ahead>,
    ) {
        let mut add = |what| found.push(Ahead { cluster, source: source.clone(), what });
        let Some(index) = self.indexes.peek(source.object) else {
            let bytes = lead.unit();
            if lead.start(at, row.end, row.bytes) && !self.indexes.is_known(source.object) {
                add(What::Start { wanted: at..row.end, bytes });
            }
            return;
        };
        let extents = index.extents(source.stream);
        let mut next = extents.partition_point(|extent| extent.end <= at);
        let last = next + extents[next..].partition_point(|extent| extent.base < row.end);
        let known = |extent| self.pages.is_known(PageKey::of(source, extent));
        while let Some(request) = lead.request(extents, &mut next, last, known) {
            let Some(room) = self.try_flight(&plan::span(&extents[request.clone()])) else {
                return lead.stop();
            };
            lead.sent(extents[request.end - 1].end);
            add(What::Pages { index: Arc::clone(&index), extents: request, room });
        }
    }

    /// Fetches it, unless somebody else does.
    pub(crate) async fn load_ahead(&self, ahead: Ahead) {
        let Ahead { cluster, source, what } = ahead;
        let (index, extents, _room) = match what {
            What::Pages { index, extents, room } => (index, extents, room),
            What::Start { wanted, bytes } => {
                let Ok(index) = self.index(cluster, &source).await else { return };
                let extents = index.extents(source.stream);
                let first = extents.partition_point(|extent| extent.end <= wanted.start);
                if extents.get(first).is_none_or(|extent| extent.base >= wanted.end) {
                    return;
                }
                let extents = first..plan::reach(extents, first, bytes);
                let span = plan::span(&index.extents(source.stream)[extents.clone()]);
                let Some(room) = self.try_flight(&span) else { return };
                (index, extents, room)
            }
        };
        let key = |extent| PageKey::of(&source, extent);
        let mut at = extents.start;
        while at < extents.end {
            if self.pages.is_known(key(at)) {
                at += 1;
            } else if let Begin::Load(claim) = self.pages.begin(key(at), (at + 1..extents.end).map(key)) {
                let claimed = &index.extents(source.stream)[at..][..claim.keys().len()];
                at += claimed.len();
                let Ok(loaded) = self.load_in_flight(&source, &index, claimed).await else { return };
                claim.fulfil_ahead(loaded.into_iter().map(Page::weighed));
            }
        }
    }
}
