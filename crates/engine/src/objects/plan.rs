//! Which extents to fetch, and in which requests: pure. Owns the trade between requests and bytes nobody asked for;
//! guarantees that a request stays below its bound unless a single extent exceeds it.

use std::ops::Range;

use kelda_format::Offset;
use kelda_format::object::Extent;

use crate::cut::Cut;

/// Bytes of one request to the store, unless one extent is larger: large enough that a request's latency is small
/// beside its transfer.
pub(crate) const REQUEST_BYTES: u64 = 4 << 20;

/// Bytes of other streams between two extents that are fetched rather than paid for with another request.
pub(crate) const GAP_BYTES: u64 = 128 << 10;

/// What a read still wants, from a place in one reference on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wish {
    pub(crate) from: Offset,
    /// Only records before this offset.
    pub(crate) until: Offset,
    pub(crate) bytes: u64,
    pub(crate) records: u64,
}

impl Wish {
    /// What `cut` wants of the reference that holds its next offset and ends at `end`.
    pub(crate) fn of(cut: &Cut, end: Offset) -> Wish {
        let (bytes, records) = (cut.bytes_left(), cut.records_left());
        Wish { from: cut.next(), until: cut.until().min(end), bytes, records }
    }

    /// What is still wanted of the reference behind, which ends at `end`, when this one ends at `from` and brings about
    /// `bytes`; nothing when that is enough.
    pub(crate) fn after(&self, bytes: u64, limit: Offset, from: Offset, end: Offset) -> Option<Wish> {
        let bytes = self.bytes.saturating_sub(bytes);
        let records = self.records.saturating_sub(from.since(self.from));
        let wanted = bytes > 0 && records > 0 && from < limit;
        wanted.then_some(Wish { from, until: limit.min(end), bytes, records })
    }
}

/// The extents that hold what is wished for, or the first of them when a limit ends there. `None` when the next offset is in
/// no extent.
pub(crate) fn wanted(extents: &[Extent], wish: &Wish) -> Option<Range<usize>> {
    let first = extents.partition_point(|extent| extent.end <= wish.from);
    extents.get(first).filter(|extent| extent.base <= wish.from)?;
    let (mut bytes, mut last) = (0, first);
    while let Some(extent) = extents.get(last) {
        let records = extent.base.0.saturating_sub(wish.from.0);
        let enough = last > first && (bytes >= wish.bytes || records >= wish.records);
        if extent.base >= wish.until || enough {
            break;
        }
        bytes += u64::from(extent.length);
        last += 1;
    }
    Some(first..last)
}

/// Splits a range of extents where they lie apart or would exceed one request.
pub(crate) fn groups(extents: &[Extent], wanted: Range<usize>) -> Vec<Range<usize>> {
    let mut groups = Vec::new();
    let mut at = wanted.start;
    while at < wanted.end {
        let end = reach(extents, at, REQUEST_BYTES).min(wanted.end);
        groups.push(at..end);
        at = end;
    }
    groups
}

/// The end of the extents from `first` on that one request of about `bytes` bytes brings; at least one.
pub(crate) fn reach(extents: &[Extent], first: usize, bytes: u64) -> usize {
    let start = extents[first].position;
    let mut end = position_after(&extents[first]);
    let mut last = first + 1;
    while let Some(extent) = extents.get(last) {
        let near = extent.position >= end && extent.position - end <= GAP_BYTES;
        if !near || position_after(extent) - start > bytes {
            break;
        }
        end = position_after(extent);
        last += 1;
    }
    last
}

/// The bytes from the beginning of the first extent to the end of the last.
pub(crate) fn span(extents: &[Extent]) -> Range<u64> {
    match (extents.first(), extents.last()) {
        (Some(first), Some(last)) => first.position..position_after(last),
        _ => 0..0,
    }
}

fn position_after(extent: &Extent) -> u64 {
    extent.position + u64::from(extent.length)
}
