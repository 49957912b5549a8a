//! What of a segment is replayed: pure. Owns the rule which entries are dropped (P10), guarantees that entries are
//! taken by offset and epoch and never by the duplicate check (P15), and that a gap stops the recovery. Never touches
//! a file, never proposes.

use std::collections::BTreeMap;

use kelda_format::wal::{Section, StreamSection};
use kelda_format::{Offset, SessionId, StreamId};
use kelda_meta::State;

use crate::error::StartError;
use crate::upload::plan::SegmentSummary;
use crate::wal::local::scan::Placed;

/// How far the records of streams reach, where that is past what a view has.
pub(crate) type Ends = BTreeMap<StreamId, Offset>;

/// What is left to commit of one segment.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    /// What was kept.
    pub(crate) summary: SegmentSummary,
    /// Entries of which nothing was kept.
    pub(crate) dropped_entries: u64,
}

/// A record is missing between the committed end and an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Missing {
    /// Byte position of the entry.
    pub(crate) position: u64,
    /// The stream.
    pub(crate) stream: StreamId,
    /// The offset that has to come next.
    pub(crate) expected: Offset,
    /// The offset at which the entry begins.
    pub(crate) found: Offset,
}

impl Missing {
    /// The report of it, as damage of `file`.
    pub(crate) fn refusal(&self, file: &str) -> StartError {
        let Missing { position, stream, expected, found } = *self;
        let detail = format!("stream {stream} goes on at offset {found}, but {expected} has to come next");
        StartError::Corrupt { file: file.to_owned(), position, detail }
    }
}

/// Decides what of the entries of one segment of `session`'s WAL is replayed onto `view`. `ends` holds how far the segments
/// before it reach, which `view` does not have, and then how far this one does.
pub(crate) fn replay_after(
    view: &State,
    ends: &mut Ends,
    session: SessionId,
    entries: &[Placed],
) -> Result<Replay, Missing> {
    let mut replay = Replay::default();
    for placed in entries {
        let kept = keep(view, ends, session, placed.position, &placed.entry.sections)?;
        if kept.is_empty() {
            replay.dropped_entries += u64::from(!placed.entry.sections.is_empty());
        } else {
            replay.summary.add(placed.position, placed.len, &kept);
        }
    }
    Ok(replay)
}

/// What is replayed of one entry, which lies at `position`.
pub(crate) fn keep(
    view: &State,
    ends: &mut Ends,
    session: SessionId,
    position: u64,
    sections: &[StreamSection],
) -> Result<Vec<StreamSection>, Missing> {
    let mut kept: Vec<StreamSection> = Vec::new();
    // Streams whose records in this entry are committed already; what came with them is too.
    let mut committed: Vec<StreamId> = Vec::new();
    for section in sections {
        let id = section.stream;
        // P10: dropped when the stream is gone, or its epoch or session is not the holder's.
        let Some(row) = view.stream(id) else { continue };
        if row.owner != Some(session) || row.epoch != Some(section.epoch) {
            continue;
        }
        if let Section::Records(block) = &section.section {
            let end = ends.entry(id).or_insert(row.end);
            if block.end() <= *end {
                committed.push(id);
                continue;
            }
            if block.base() != *end {
                return Err(Missing { position, stream: id, expected: *end, found: block.base() });
            }
            *end = block.end();
        }
        kept.push(section.clone());
    }
    kept.retain(|section| !committed.contains(&section.stream));
    Ok(kept)
}

#[cfg(test)]
mod tests;
