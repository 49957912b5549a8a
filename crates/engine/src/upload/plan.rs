//! What a segment's entries come to, and the commit that says so: pure. Owns the summary that is built entry by entry,
//! by the writer and by recovery alike. Guarantees that the producer rows of a commit follow from the committed rows
//! and the WAL entries alone, as of exactly the committed end (P15), and that a stream that is gone is left out (P10).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;
use kelda_format::command::{CommitPart, ObjectRef};
use kelda_format::limits::PRODUCER_RESULTS_KEPT;
use kelda_format::object::IndexBuilder;
use kelda_format::rows::{ProducerId, ProducerRow, StreamRow};
use kelda_format::wal::{ProducerChange, Section, StreamSection};
use kelda_format::{Epoch, ObjectId, Offset, StreamId, Timestamp};
use kelda_meta::State;
use kelda_meta::producers::{self, ProducerClaim};

/// Bytes of a commit's command past which a segment or range takes no more though it is not full: one command is one part
/// of one entry of the metadata log, however many streams and producers wrote to it.
pub(crate) const COMMIT_BYTES: u64 = 8 << 20;

/// What the entries of one segment, or of one range of slots, say.
#[derive(Debug, Default)]
pub(crate) struct SegmentSummary {
    streams: BTreeMap<StreamId, StreamSummary>,
    index: IndexBuilder,
    commit_bytes: u64,
}

/// Bytes that a stream, and those that a producer with its results, adds to a commit at most, ids not counted.
const PART_BYTES: u64 = 256;
const PRODUCER_BYTES: u64 = 320;

/// What they say of one stream.
#[derive(Debug)]
pub(crate) struct StreamSummary {
    /// The epoch under which it was written.
    pub(crate) epoch: Epoch,
    /// Where the records begin; none when there are none.
    pub(crate) base: Option<Offset>,
    /// The offset after the last record, if there are any.
    pub(crate) end: Option<Offset>,
    pub(crate) first_timestamp: Timestamp,
    pub(crate) last_timestamp: Timestamp,
    pub(crate) sealed: bool,
    pub(crate) stream_seq: Option<Bytes>,
    pub(crate) checkpoint: Option<Bytes>,
    /// Bytes of the entries with records.
    pub(crate) bytes: u64,
    /// Entries that say anything of the stream.
    pub(crate) entries: u64,
    producers: BTreeMap<ProducerId, ProducerHistory>,
    forgotten: BTreeSet<ProducerId>,
}

/// The last changes of one producer.
#[derive(Debug, Default)]
struct ProducerHistory {
    /// Whether the row before these changes has no part in the row after them.
    fresh: bool,
    changes: VecDeque<ProducerChange>,
}

impl SegmentSummary {
    /// Takes in one entry that lies at `position` and is `len` bytes long.
    pub(crate) fn add(&mut self, position: u64, len: u64, sections: &[StreamSection]) {
        self.index.add_entry(sections, position, len);
        self.add_unplaced(sections, len);
    }

    /// Takes in one entry of `len` bytes that becomes part of no object as it is: there is no index of it.
    pub(crate) fn add_unplaced(&mut self, sections: &[StreamSection], len: u64) {
        let mut counted = None;
        for StreamSection { stream, epoch, section } in sections {
            let summary = self.streams.entry(*stream).or_insert_with(|| {
                self.commit_bytes += PART_BYTES;
                StreamSummary::new(*epoch)
            });
            assert_eq!(summary.epoch, *epoch, "a session opens a stream again only when all is committed");
            if counted != Some(*stream) {
                summary.entries += 1;
                counted = Some(*stream);
            }
            if let Section::Records(_) = section {
                summary.bytes += len;
            }
            self.commit_bytes += summary.add(section);
        }
    }

    /// Bytes that the commit's command takes at most.
    pub(crate) fn commit_bytes(&self) -> u64 {
        self.commit_bytes
    }

    /// The streams, in the order of their ids.
    pub(crate) fn streams(&self) -> impl Iterator<Item = (StreamId, &StreamSummary)> {
        self.streams.iter().map(|(id, summary)| (*id, summary))
    }

    /// The index of what was taken in.
    pub(crate) fn index(&self) -> &IndexBuilder {
        &self.index
    }

    /// The parts of the commit that brings in `object`, against `view`, in which everything before this segment is
    /// committed.
    pub(crate) fn parts(&self, view: &State, object: ObjectId) -> Vec<CommitPart> {
        self.parts_in(view, |_, summary| Some((object, summary.bytes)))
    }

    /// As [`SegmentSummary::parts`], where the records of each stream are in the object that `placed` says, with so many
    /// bytes.
    pub(crate) fn parts_in(
        &self,
        view: &State,
        placed: impl Fn(StreamId, &StreamSummary) -> Option<(ObjectId, u64)>,
    ) -> Vec<CommitPart> {
        self.streams
            .iter()
            .filter_map(|(id, summary)| {
                let row = view.stream(*id)?;
                Some(summary.part(view, row, placed(*id, summary)))
            })
            .collect()
    }
}

impl StreamSummary {
    fn new(epoch: Epoch) -> StreamSummary {
        StreamSummary {
            epoch,
            base: None,
            end: None,
            first_timestamp: Timestamp(0),
            last_timestamp: Timestamp(0),
            sealed: false,
            stream_seq: None,
            checkpoint: None,
            bytes: 0,
            entries: 0,
            producers: BTreeMap::new(),
            forgotten: BTreeSet::new(),
        }
    }

    /// Takes in a section; returns how many bytes that adds to a commit at most.
    fn add(&mut self, section: &Section) -> u64 {
        match section {
            Section::Records(block) => {
                if self.base.is_none() {
                    self.base = Some(block.base());
                    self.first_timestamp = block.first_timestamp();
                }
                self.end = Some(block.end());
                self.last_timestamp = block.last_timestamp();
            }
            Section::Producer(change) => {
                let id = ProducerId::new(&change.id);
                let new = !self.producers.contains_key(&id);
                let history = self.producers.entry(id).or_default();
                if history.changes.len() == PRODUCER_RESULTS_KEPT {
                    // Eight later results follow: nothing older has a part in the row.
                    history.changes.pop_front();
                    history.fresh = true;
                }
                history.changes.push_back(change.clone());
                return if new { PRODUCER_BYTES + change.id.len() as u64 } else { 0 };
            }
            Section::Seal => self.sealed = true,
            Section::StreamSeq(seq) => self.stream_seq = Some(seq.clone()),
            Section::QueueState(state) => {
                self.checkpoint = Some(state.clone());
                return state.len() as u64;
            }
            Section::ForgetProducer(id) => {
                let bytes = id.len() as u64;
                let id = ProducerId::new(id);
                self.producers.insert(id.clone(), ProducerHistory { fresh: true, changes: VecDeque::new() });
                self.forgotten.insert(id);
                return bytes;
            }
        }
        0
    }

    fn part(&self, view: &State, row: &StreamRow, placed: Option<(ObjectId, u64)>) -> CommitPart {
        let stream = row.id;
        let refs = match self.base.zip(placed) {
            Some((base, (object, bytes))) => vec![ObjectRef {
                base,
                end: self.end.unwrap_or(base),
                object,
                first_timestamp: self.first_timestamp,
                last_timestamp: self.last_timestamp,
                bytes,
            }],
            None => Vec::new(),
        };
        CommitPart {
            stream,
            epoch: self.epoch,
            expected_end: self.base.unwrap_or(row.end),
            end: self.end.unwrap_or(row.end),
            // P18: a segment without records of the stream leaves its time as it was.
            last_timestamp: self.last_timestamp.max(row.last_timestamp),
            sealed: self.sealed || row.sealed,
            stream_seq: self.stream_seq.clone(),
            checkpoint: self.checkpoint.clone(),
            deadline: None,
            forget: self.forgotten.iter().filter(|id| view.producer(stream, id).is_some()).cloned().collect(),
            producers: self.rows(view, stream),
            refs,
        }
    }

    /// P15: the rows as of exactly the end of this segment, from the committed rows and the entries.
    fn rows(&self, view: &State, stream: StreamId) -> Vec<ProducerRow> {
        self.producers
            .iter()
            .filter_map(|(id, history)| {
                let mut row = if history.fresh { None } else { view.producer(stream, id).cloned() };
                for change in &history.changes {
                    let claim = ProducerClaim { id: id.clone(), epoch: change.epoch, seq: change.seq };
                    let next = producers::advance(
                        row.as_ref(),
                        stream,
                        &claim,
                        change.first_offset,
                        change.count,
                        change.at,
                    );
                    row = Some(next);
                }
                row.filter(|_| !history.changes.is_empty())
            })
            .collect()
    }
}

#[cfg(test)]
mod tests;
