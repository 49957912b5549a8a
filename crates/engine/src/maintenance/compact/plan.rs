//! Which references of a stream become one: pure. Owns the shape that a stream converges to. Guarantees that only neighbours
//! are merged, that repeated merges come to an end with at most one reference for [`nearly_full`] bytes and [`LOOSE_REFS`]
//! besides, whatever the order of sizes, and that a byte is moved a number of times that grows with the logarithm of a segment.
//! Never reads a byte.
//!
//! From the old end, references are taken together until they have the bytes of a segment; a group of several is merged. What
//! is left at the new end has less than a segment and is kept few by merging its newest references whenever eight or more of
//! them have as much as the one before: as a counter carries.

use kelda_format::rows::ObjectRefRow;
use kelda_format::{Offset, StreamId};

/// References that a stream may have beyond those that are nearly full: eight, and one for each doubling from [`LEAST_WEIGHT`]
/// to the largest segment there is.
pub const LOOSE_REFS: usize = 48;

/// References at the new end that are merged together at least.
const FAN_IN: usize = 8;

/// Bytes that a reference counts for at least: smaller ones cost as much as this.
const LEAST_WEIGHT: u64 = 256;

/// Least bytes of a segment here, whatever a stream asks for: smaller references cost more than they are worth.
pub(crate) const LEAST_SEGMENT: u64 = 16 << 10;

/// Bytes from which a reference is left alone: what a full segment of the write-ahead log surely holds of records, so that one
/// which became an object is not moved again.
pub(crate) fn nearly_full(segment_bytes: u64) -> u64 {
    segment_bytes - segment_bytes / 8
}

/// References that become one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Merge {
    /// Neighbours, in order.
    pub(crate) inputs: Vec<ObjectRefRow>,
    /// Their bytes, an estimate of those of the result.
    pub(crate) bytes: u64,
}

/// What the planner has to know of a stream besides its references.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Around {
    pub(crate) stream: StreamId,
    /// Bytes of a segment of the stream.
    pub(crate) segment_bytes: u64,
    /// The first offset held.
    pub(crate) start: Offset,
    /// What ends here or before is about to be given up.
    pub(crate) leaving: Offset,
}

/// The merges that a stream is in need of now; none when it has its shape. `refs` are all of its references, by offset;
/// `fixed` says which of them cannot be moved, `alone` whether an object holds little besides that reference.
pub(crate) fn merges(
    refs: &[ObjectRefRow],
    around: &Around,
    fixed: impl Fn(&ObjectRefRow) -> bool,
    alone: impl Fn(&ObjectRefRow) -> bool,
) -> Vec<Merge> {
    let around = Around { segment_bytes: around.segment_bytes.max(LEAST_SEGMENT), ..*around };
    // What a fork shares is moved by none of the two, or it would be there twice.
    let stays = |row: &ObjectRefRow| row.end <= around.leaving || row.source != around.stream || fixed(row);
    let mut found = Vec::new();
    let mut at = 0;
    while at < refs.len() {
        if stays(&refs[at]) {
            at += 1;
            continue;
        }
        let end = (at..refs.len()).find(|index| stays(&refs[*index])).unwrap_or(refs.len());
        of_run(&refs[at..end], &around, end == refs.len(), &mut found);
        at = end;
    }
    let cut = refs.iter().find(|row| !stays(row)).filter(|row| is_mostly_trimmed(row, &around) && alone(row));
    if let Some(first) = cut
        && found.first().is_none_or(|merge| merge.inputs[0].base != first.base)
    {
        found.insert(0, merge(std::slice::from_ref(first)));
    }
    found
}

/// Merges of neighbours, which may all be moved; `newest` when nothing follows them.
fn of_run(run: &[ObjectRefRow], around: &Around, newest: bool, found: &mut Vec<Merge>) {
    let segment = around.segment_bytes;
    let mut at = 0;
    while at < run.len() {
        let mut end = at + 1;
        let mut bytes = run[at].bytes;
        if bytes >= nearly_full(segment) {
            at = end;
            continue;
        }
        // What is twice a segment is not moved for the sake of a small one before it: the two are few enough for their bytes.
        while bytes < segment && run.get(end).is_some_and(|next| next.bytes < 2 * segment) {
            bytes += run[end].bytes;
            end += 1;
        }
        let group = &run[at..end];
        if end == run.len() && newest && bytes < nearly_full(segment) {
            found.extend(newest_of(group));
        } else if group.len() > 1 {
            found.push(merge(group));
        }
        at = end;
    }
}

/// The merge that keeps the references at the new end few, if one is due: of the fewest, eight at least, that have as much as
/// the oldest of them without it.
fn newest_of(run: &[ObjectRefRow]) -> Option<Merge> {
    let weight = |row: &ObjectRefRow| row.bytes.max(LEAST_WEIGHT);
    let mut behind = 0;
    for (index, row) in run.iter().enumerate().rev() {
        if run.len() - index >= FAN_IN && weight(row) <= behind {
            return Some(merge(&run[index..]));
        }
        behind += weight(row);
    }
    None
}

/// Whether most of the first reference lies before the start, and it has enough bytes to matter.
fn is_mostly_trimmed(row: &ObjectRefRow, around: &Around) -> bool {
    let (gone, all) = (around.start.0.saturating_sub(row.base.0), row.end.since(row.base));
    gone > 0 && gone >= all.div_ceil(2) && row.bytes >= around.segment_bytes / 16
}

fn merge(inputs: &[ObjectRefRow]) -> Merge {
    Merge { inputs: inputs.to_vec(), bytes: inputs.iter().map(|row| row.bytes).sum() }
}

/// Splits merges of many streams into jobs, each of which writes one object: one by itself when it is large enough, the
/// others together up to `object_bytes`. A stream is in a job once.
pub(crate) fn jobs(merges: Vec<(StreamId, Merge)>, object_bytes: u64) -> Vec<Vec<(StreamId, Merge)>> {
    let mut jobs = Vec::new();
    let mut shared: Vec<(StreamId, Merge)> = Vec::new();
    let mut bytes = 0;
    for (stream, merge) in merges {
        if merge.bytes >= nearly_full(object_bytes) {
            jobs.push(vec![(stream, merge)]);
            continue;
        }
        let again = shared.last().is_some_and(|(last, _)| *last == stream);
        if again || bytes + merge.bytes > object_bytes || shared.len() >= MAX_PARTS {
            jobs.push(std::mem::take(&mut shared));
            bytes = 0;
        }
        bytes += merge.bytes;
        shared.push((stream, merge));
    }
    jobs.push(shared);
    jobs.retain(|job| !job.is_empty());
    jobs
}

/// Streams of one job: what one command may say.
const MAX_PARTS: usize = 4096;

#[cfg(test)]
mod tests;
