//! Which segments of a stream go: pure. Owns the rule of the limits. Guarantees that only whole segments go, from the old end,
//! that what stays satisfies a bound that it was removed for, that what is being written stays, and that a second look at
//! what stays removes nothing more. Never reads a clock.
//!
//! A segment is a group of neighbouring references that together have the bytes of a segment: counted from the old end, each
//! group takes references until it has that many. The last group may have less: it is being written.

use kelda_format::rows::{ObjectRefRow, Retention};
use kelda_format::{Offset, Timestamp};

/// What bounds a stream, with the size of its segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Milliseconds that a record is kept.
    pub(crate) max_age_ms: Option<u64>,
    /// Bytes that are kept at least.
    pub(crate) max_bytes: Option<u64>,
    /// Bytes of a segment.
    pub(crate) segment_bytes: u64,
}

impl Limits {
    /// Those of a registry entry. Unless it says otherwise, a segment is what a segment of the write-ahead log, which has
    /// `log_segment` bytes with its header and index, brings when it is full.
    pub(crate) fn of(retention: &Retention, log_segment: u64) -> Limits {
        Limits {
            max_age_ms: retention.max_age_ms,
            max_bytes: retention.max_bytes,
            segment_bytes: retention.segment_bytes.unwrap_or(log_segment - log_segment / 8).max(1),
        }
    }

    /// Whether a record of this time is too old. What has no known age is not.
    pub(crate) fn is_aged(&self, time: Timestamp, now: Timestamp) -> bool {
        let limit = self.max_age_ms.map(|age| time.0.saturating_add(age));
        time.0 > 0 && limit.is_some_and(|limit| limit < now.0)
    }
}

/// A group of references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segment {
    end: Offset,
    bytes: u64,
    last: Timestamp,
}

/// Where the stream should begin: everything before goes. `None` when nothing does.
///
/// `refs` are all references of the stream, by offset, which have `bytes` bytes in all; `more` says that records follow them
/// which are not committed yet.
pub(crate) fn cut<'a>(
    refs: impl IntoIterator<Item = &'a ObjectRefRow>,
    bytes: u64,
    limits: &Limits,
    now: Timestamp,
    more: bool,
) -> Option<Offset> {
    let mut refs = refs.into_iter().peekable();
    let mut left = bytes;
    let mut cut = None;
    while let Some(segment) = next_segment(&mut refs, limits.segment_bytes) {
        left = left.saturating_sub(segment.bytes);
        let spare = limits.max_bytes.is_some_and(|max| left >= max);
        let aged = limits.is_aged(segment.last, now);
        // The last one is being written until it is full, or nothing more comes and it is too old.
        let ended = refs.peek().is_some() || segment.bytes >= limits.segment_bytes || (aged && !more);
        if !ended || !(spare || aged) {
            break;
        }
        cut = Some(segment.end);
    }
    cut
}

fn next_segment<'a>(
    refs: &mut impl Iterator<Item = &'a ObjectRefRow>,
    segment_bytes: u64,
) -> Option<Segment> {
    let mut segment: Option<Segment> = None;
    while segment.is_none_or(|segment| segment.bytes < segment_bytes) {
        let Some(row) = refs.next() else { break };
        let bytes = segment.map_or(0, |segment| segment.bytes).saturating_add(row.bytes);
        segment = Some(Segment { end: row.end, bytes, last: row.last_timestamp });
    }
    segment
}

#[cfg(test)]
mod tests;
