//! Reading ahead of a reader in sequence: owns the choice what to fetch before anybody asks. Guarantees that a reader
//! which jumps about causes none of it, that it stays within a step of the reader and one request, and that it never waits
//! for room. Never reports an error: who needs the page meets it.

use std::ops::Range;
use std::sync::Arc;

use kelda_format::object::{Extent, ObjectIndex};
use kelda_format::{Offset, StreamId};
use kelda_meta::State;

use super::load_cache::Begin;
use super::page::{Page, PageKey};
use super::{FLIGHT_UNIT, ObjectReader, Source, plan};

/// Bytes of the request that brought the last page read, from which on its reader reads in sequence: twice what a reader
/// asks for at a time, since requests grow only then.
const SEQUENTIAL_BYTES: u64 = 2 << 20;

/// Pages to fetch.
pub(crate) struct Ahead {
    source: Source,
    index: Arc<ObjectIndex>,
    extents: Range<usize>,
}

impl ObjectReader {
    /// What a reader of `stream` that goes on at `next`, and got `step` bytes this time, will want next and nobody fetched
    /// yet.
    pub(crate) fn ahead(&self, view: &State, stream: StreamId, next: Offset, step: u64) -> Option<Ahead> {
        let row = view.object_at(stream, next)?;
        let source = Source::of(view, row).ok()?;
        let index = self.indexes.peek(source.object)?;
        let extents = index.extents(source.stream);
        let key = |extent| PageKey { object: source.object, stream: source.stream, extent };
        let at = extents.partition_point(|extent| extent.end <= next);
        let before = self.pages.peek(key(at.checked_sub(1)?))?.request;
        let near = step.max(plan::REQUEST_BYTES / 2);
        let first = first_missing(extents, at, near, |extent| self.pages.is_known(key(extent)))?;
        let bytes = before.saturating_mul(2).min(plan::REQUEST_BYTES);
        let room = self.in_flight.available_permits() as u64 * FLIGHT_UNIT;
        if before < SEQUENTIAL_BYTES || room < bytes {
            return None;
        }
        let extents = first..plan::reach(extents, first, bytes);
        Some(Ahead { source, index, extents })
    }

    /// Fetches it, unless somebody else does.
    pub(crate) async fn load_ahead(&self, ahead: Ahead) {
        let Ahead { source, index, extents } = ahead;
        let key = |extent| PageKey { object: source.object, stream: source.stream, extent };
        let others = (extents.start + 1..extents.end).map(key);
        let Begin::Load(claim) = self.pages.begin(key(extents.start), others) else { return };
        let claimed = &index.extents(source.stream)[extents.start..][..claim.keys().len()];
        let Ok(loaded) = self.load_pages(&source, &index, claimed).await else { return };
        claim.fulfil(loaded.into_iter().map(Page::weighed));
    }
}

/// The first extent from `at` on that is not known, if it lies less than `near` bytes ahead.
fn first_missing(extents: &[Extent], at: usize, near: u64, known: impl Fn(usize) -> bool) -> Option<usize> {
    let near = extents.get(at)?.position + near;
    let missing = (at..extents.len()).find(|extent| !known(*extent) || extents[*extent].position >= near)?;
    (extents[missing].position < near).then_some(missing)
}
