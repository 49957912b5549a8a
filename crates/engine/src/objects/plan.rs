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

/// The extents that hold what `cut` still wants before `end`, or the first of them when a limit ends there. `None`
/// when the next offset is in no extent.
pub(crate) fn wanted(extents: &[Extent], cut: &Cut, end: Offset) -> Option<Range<usize>> {
    let from = cut.next();
    let first = extents.partition_point(|extent| extent.end <= from);
    extents.get(first).filter(|extent| extent.base <= from)?;
    let until = cut.until().min(end);
    let (mut bytes, mut last) = (0, first);
    while let Some(extent) = extents.get(last) {
        let records = extent.base.since(from);
        let enough = last > first && (bytes >= cut.bytes_left() || records >= cut.records_left());
        if extent.base >= until || enough {
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
