//! Reading a WAL segment back: pure. Owns the judgement where a WAL ends (P11): a bad entry is corruption when it must
//! have been acknowledged, otherwise the tail is torn there. Never touches a file, never knows a stream.

use bytes::Bytes;
use kelda_format::object::{FOOTER_BYTES, Footer, ObjectSource};
use kelda_format::wal::{
    Bad, BadKind, Entry, EntryHeader, SEGMENT_HEADER_BYTES, SegmentHeader, decode_entry, find_valid_after,
};
use kelda_format::{ClusterId, SessionId};

use super::segment::LEAST_TRAILER_BYTES;

/// What the segment has to be, and what is known of the one after it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected {
    pub(crate) cluster: ClusterId,
    pub(crate) session: SessionId,
    pub(crate) number: u64,
    /// The last group of the segments before it; 0 when there is none.
    pub(crate) group_before: u64,
    /// The first group of the segment after it, when that one was begun: then everything in this one was synced.
    pub(crate) next_first_group: Option<u64>,
}

/// One entry and where it lies.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    pub(crate) position: u64,
    pub(crate) len: u64,
    pub(crate) entry: Entry,
}

/// A segment that was read.
#[derive(Clone, Debug)]
pub(crate) struct Scanned {
    /// None when nothing was ever written to it.
    pub(crate) header: Option<SegmentHeader>,
    pub(crate) entries: Vec<Placed>,
    /// Where the entries end.
    pub(crate) end: u64,
    /// The last group read, or that of the segments before.
    pub(crate) last_group: u64,
    /// Bytes behind the end that were written and never acknowledged, up to the last that is not zero.
    pub(crate) torn_bytes: u64,
}

/// Why a segment cannot be replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// It is damaged where it must have been durable.
    Corrupt { position: u64, detail: String },
    /// It was written by a newer version.
    Newer { detail: String },
    /// It was written by another cluster or another session.
    Foreign { detail: String },
}

/// Reads a header; none when nothing was ever written to the segment, or only a header that was never synced.
pub(crate) fn read_header(bytes: &Bytes, expected: &Expected) -> Result<Option<SegmentHeader>, Unreadable> {
    let head = &bytes[..bytes.len().min(SEGMENT_HEADER_BYTES)];
    let header = match SegmentHeader::decode(head) {
        Ok(header) => header,
        Err(error) if error.newer.is_some() => return Err(Unreadable::Newer { detail: error.to_string() }),
        Err(error) => {
            // The header is synced before the first entry is written.
            let behind = bytes.get(SEGMENT_HEADER_BYTES..).unwrap_or_default();
            return match first_written(behind) {
                None => Ok(None),
                Some(_) => Err(Unreadable::Corrupt { position: 0, detail: error.to_string() }),
            };
        }
    };
    let found = (header.context.cluster, header.context.session, header.number);
    if found != (expected.cluster, expected.session, expected.number) {
        let detail = format!(
            "it is segment {} of session {} of cluster {}, expected was segment {} of session {} of cluster {}",
            header.number,
            header.context.session,
            header.context.cluster,
            expected.number,
            expected.session,
            expected.cluster
        );
        return Err(Unreadable::Foreign { detail });
    }
    Ok(Some(header))
}

/// Reads a whole segment.
pub(crate) fn scan(bytes: &Bytes, expected: &Expected) -> Result<Scanned, Unreadable> {
    let Some(header) = read_header(bytes, expected)? else {
        let nothing = Scanned {
            header: None,
            entries: Vec::new(),
            end: 0,
            last_group: expected.group_before,
            torn_bytes: 0,
        };
        return match expected.next_first_group {
            None => Ok(nothing),
            Some(_) => Err(corrupt(0, "the segment after it was begun, but this one is empty".to_owned())),
        };
    };
    if header.first_group != expected.group_before + 1 {
        let detail =
            format!("it begins with group {}, {} expected", header.first_group, expected.group_before + 1);
        return Err(corrupt(0, detail));
    }
    let sealed_at = sealed_at(bytes, &header);
    let mut scanned = Scanned {
        header: Some(header),
        entries: Vec::new(),
        end: SEGMENT_HEADER_BYTES as u64,
        last_group: expected.group_before,
        torn_bytes: 0,
    };
    let bad = loop {
        let at = usize::try_from(scanned.end).unwrap_or(usize::MAX);
        if sealed_at == Some(scanned.end) {
            break None;
        }
        match decode_entry(bytes, at, &header.context) {
            Ok((entry, next)) => {
                check_group(&entry.header, &scanned)?;
                scanned.last_group = entry.header.group;
                scanned.entries.push(Placed { position: scanned.end, len: (next - at) as u64, entry });
                scanned.end = next as u64;
            }
            Err(bad) if bad.kind == BadKind::Unsupported => {
                return Err(Unreadable::Newer { detail: bad.to_string() });
            }
            Err(bad) => break Some(bad),
        }
    };
    match bad {
        None => {}
        Some(bad) if sealed_at.is_some() => return Err(corrupt(bad.at, bad.detail.into_owned())),
        Some(bad) => {
            whole(bytes, &bad)?;
            judge(bytes, &header, expected, &bad)?;
            scanned.torn_bytes = torn_bytes(bytes, scanned.end);
        }
    }
    match expected.next_first_group {
        Some(next) if next != scanned.last_group + 1 => Err(corrupt(
            scanned.end,
            format!("groups {} to {} are missing", scanned.last_group + 1, next - 1),
        )),
        _ => Ok(scanned),
    }
}

/// A segment is preallocated, and never shorter than its entries with an index behind them. One that is was cut.
fn whole(bytes: &Bytes, bad: &Bad) -> Result<(), Unreadable> {
    let len = bytes.len() as u64;
    let needed = bad.header.map_or(LEAST_TRAILER_BYTES, |header| header.entry_len());
    if len.saturating_sub(bad.at) >= needed {
        return Ok(());
    }
    Err(corrupt(
        bad.at,
        format!(
            "the file was cut short: it ends at byte {len}, but {needed} bytes at least have to follow here"
        ),
    ))
}

/// P11: torn, or corrupt? Torn is what was never synced, and so never acknowledged: bytes of the last group. A later
/// group is written only after the one before is synced, so one that began behind the bad bytes proves corruption.
fn judge(bytes: &Bytes, header: &SegmentHeader, expected: &Expected, bad: &Bad) -> Result<(), Unreadable> {
    let found = |why: String| Err(corrupt(bad.at, format!("{}, but {why}", bad.detail)));
    if bad.kind == BadKind::End {
        return Ok(());
    }
    // What is no entry at all may be part of an index that was being written behind the entries when the power
    // failed. That no group is missing before the next segment is checked by the caller.
    if expected.next_first_group.is_some() && bad.header.is_some() {
        return found(format!(
            "segment {} was begun later, so this must have been durable",
            expected.number + 1
        ));
    }
    let at = usize::try_from(bad.at).unwrap_or(usize::MAX);
    // A synced mark is such an entry too: a group by itself, written after the one it marks.
    match find_valid_after(bytes, at, &header.context) {
        Some((later, entry)) => found(format!("group {} at byte {later} was written after it", entry.group)),
        None => Ok(()),
    }
}

fn check_group(entry: &EntryHeader, scanned: &Scanned) -> Result<(), Unreadable> {
    let next = scanned.last_group + 1;
    if entry.group == scanned.last_group && !scanned.entries.is_empty() || entry.group == next {
        return Ok(());
    }
    Err(corrupt(scanned.end, format!("group {} follows group {}", entry.group, scanned.last_group)))
}

/// Where the entries of a complete object end.
fn sealed_at(bytes: &Bytes, header: &SegmentHeader) -> Option<u64> {
    let footer = bytes.len().checked_sub(FOOTER_BYTES)?;
    let footer = Footer::decode(&bytes[footer..], bytes.len() as u64).ok()?;
    (footer.source == ObjectSource::Segment(header.context)).then_some(footer.index_position)
}

fn torn_bytes(bytes: &Bytes, end: u64) -> u64 {
    let behind = usize::try_from(end).ok().and_then(|end| bytes.get(end..)).unwrap_or_default();
    behind.iter().rposition(|byte| *byte != 0).map_or(0, |at| at as u64 + 1)
}

fn first_written(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte != 0)
}

fn corrupt(position: u64, detail: String) -> Unreadable {
    Unreadable::Corrupt { position, detail }
}

#[cfg(test)]
mod tests;
