//! Commits: what makes records part of the state. Guarantees that a commit is all or nothing, moves the WAL
//! start and the committed tails together (P7, P10), and carries the producer table of exactly the new
//! committed tail (P15).

use std::collections::BTreeSet;

use kelda_format::command::{CommitObjects, CommitPart, ObjectRef};
use kelda_format::limits::{
    MAX_PRODUCER_ID_BYTES, MAX_PRODUCERS_PER_STREAM, MAX_STREAM_SEQ_BYTES, PRODUCER_RESULTS_KEPT,
};
use kelda_format::rows::{ObjectRefRow, ProducerId, ProducerRow, SessionRow, StreamRow};
use kelda_format::{ObjectId, Offset, StreamId, Timestamp};

use super::limit::{self, MAX_CHECKPOINT_BYTES, MAX_OBJECT_BYTES};
use super::{object, session, stream};
use crate::{Limited, Outcome, PartFault, Rejection, State};

pub(super) fn commit(state: &mut State, command: &CommitObjects) -> Result<Outcome, Rejection> {
    let wal = session::known(state, command.wal)?;
    if wal.wal_start != command.expect_wal_start && object::committed_before(state, &command.objects) {
        return Ok(Outcome::AlreadyApplied);
    }
    session::live(state, command.session)?;
    if command.session != command.wal {
        session::recoverable(state, command.wal, command.session)?;
    }
    session::wal_start(wal, command.expect_wal_start)?;
    if command.wal_start <= command.expect_wal_start {
        return Err(Rejection::WalStartBack { from: command.expect_wal_start, to: command.wal_start });
    }
    let new_objects = object::reserved(state, command.session, &command.objects)?;
    let parts = check_parts(state, command, &new_objects)?;

    let dropped = command.parts.len() - parts.len();
    let wal = SessionRow { wal_start: command.wal_start, ..wal.clone() };
    state.put_session(wal);
    object::bring_in(state, &command.objects);
    for part in parts {
        apply_part(state, part);
    }
    // P10: what only deleted streams referred to is destroyed.
    object::destroy_unreferenced(state, &command.objects, command.at);
    Ok(Outcome::Committed { dropped: u32::try_from(dropped).unwrap_or(u32::MAX) })
}

/// P10: the parts to apply; those of deleted streams are left out, and any other fault rejects everything.
fn check_parts<'a>(
    state: &State,
    command: &'a CommitObjects,
    new_objects: &BTreeSet<ObjectId>,
) -> Result<Vec<&'a CommitPart>, Rejection> {
    let mut seen: BTreeSet<StreamId> = BTreeSet::new();
    let mut parts = Vec::with_capacity(command.parts.len());
    for part in &command.parts {
        if !seen.insert(part.stream) {
            return Err(Rejection::BadPart { stream: part.stream, fault: PartFault::Twice });
        }
        if state.is_gone(part.stream) {
            continue;
        }
        let row = stream::existing(state, part.stream)?;
        stream::held_at(row, command.wal, part.epoch)?;
        stream::ends_at(row, part.expected_end)?;
        limit::bytes(
            Limited::StreamSeqBytes,
            part.stream_seq.as_ref().map_or(0, bytes::Bytes::len),
            MAX_STREAM_SEQ_BYTES as u64,
        )?;
        limit::bytes(
            Limited::CheckpointBytes,
            part.checkpoint.as_ref().map_or(0, bytes::Bytes::len),
            MAX_CHECKPOINT_BYTES,
        )?;
        check_part(state, row, part, new_objects)
            .map_err(|fault| Rejection::BadPart { stream: part.stream, fault })?;
        parts.push(part);
    }
    Ok(parts)
}

fn check_part(
    state: &State,
    row: &StreamRow,
    part: &CommitPart,
    new_objects: &BTreeSet<ObjectId>,
) -> Result<(), PartFault> {
    // P16: nothing comes after a seal.
    if row.sealed && (part.end > row.end || !part.sealed) {
        return Err(PartFault::Sealed { end: row.end });
    }
    let (end, last) = check_refs(&part.refs, row.end, row.last_timestamp, new_objects)?;
    if end != part.end {
        return Err(PartFault::NotContiguous { expected: part.end, found: end });
    }
    // P18: the time of the last record never goes back.
    if part.last_timestamp < last {
        return Err(PartFault::TimeBack { last, found: part.last_timestamp });
    }
    check_producers(state, row, part)
}

/// Checks that references go on from `start` and `time` without a gap, in objects of this command. Returns
/// where and when they end.
pub(super) fn check_refs(
    refs: &[ObjectRef],
    start: Offset,
    time: Timestamp,
    new_objects: &BTreeSet<ObjectId>,
) -> Result<(Offset, Timestamp), PartFault> {
    let (mut end, mut last) = (start, time);
    for row in refs {
        if !new_objects.contains(&row.object) {
            return Err(PartFault::ForeignObject { object: row.object });
        }
        if row.base != end {
            return Err(PartFault::NotContiguous { expected: end, found: row.base });
        }
        if row.bytes > MAX_OBJECT_BYTES {
            return Err(PartFault::RefBytes { base: row.base, bytes: row.bytes });
        }
        if row.end <= row.base {
            return Err(PartFault::EmptyRef { base: row.base, end: row.end });
        }
        if row.first_timestamp < last {
            return Err(PartFault::TimeBack { last, found: row.first_timestamp });
        }
        if row.last_timestamp < row.first_timestamp {
            return Err(PartFault::TimeBack { last: row.first_timestamp, found: row.last_timestamp });
        }
        (end, last) = (row.end, row.last_timestamp);
    }
    Ok((end, last))
}

/// P15: the rows are as of exactly the new tail, go forward and stay within their limits.
fn check_producers(state: &State, row: &StreamRow, part: &CommitPart) -> Result<(), PartFault> {
    let forgotten: BTreeSet<&ProducerId> =
        part.forget.iter().filter(|id| state.producer(row.id, id).is_some()).collect();
    let mut seen: BTreeSet<&ProducerId> = BTreeSet::new();
    let mut added = 0u64;
    for (index, producer) in (0u32..).zip(&part.producers) {
        if producer.stream != row.id || !seen.insert(&producer.id) {
            return Err(PartFault::ForeignProducer { index });
        }
        if producer.next_offset > part.end {
            let (next_offset, end) = (producer.next_offset, part.end);
            return Err(PartFault::ProducerBeyond { index, next_offset, end });
        }
        if !well_formed(producer, part.end) {
            return Err(PartFault::ProducerMalformed { index });
        }
        match state.producer(row.id, &producer.id).filter(|_| !forgotten.contains(&producer.id)) {
            Some(before) if (producer.epoch, producer.seq) < (before.epoch, before.seq) => {
                return Err(PartFault::ProducerBack { index, epoch: before.epoch, seq: before.seq });
            }
            Some(_) => {}
            None => added += 1,
        }
    }
    let (count, max) =
        (u64::from(row.producers) + added - forgotten.len() as u64, MAX_PRODUCERS_PER_STREAM as u64);
    if count > max { Err(PartFault::TooManyProducers { count, max }) } else { Ok(()) }
}

/// Whether a row's id and results are of legal size, in order and below `end`.
pub(crate) fn well_formed(producer: &ProducerRow, end: Offset) -> bool {
    let id_bytes = producer.id.as_str().len();
    let results = &producer.results;
    let in_order = results.windows(2).all(|pair| pair[0].seq < pair[1].seq);
    let below = results.iter().all(|result| {
        result.first_offset.0.checked_add(result.count.into()).is_some_and(|next| next <= end.0)
    });
    (1..=MAX_PRODUCER_ID_BYTES).contains(&id_bytes)
        && results.len() <= PRODUCER_RESULTS_KEPT
        && results.last().is_none_or(|last| last.seq == producer.seq)
        && in_order
        && below
}

fn apply_part(state: &mut State, part: &CommitPart) {
    let stream = part.stream;
    for row in &part.refs {
        state.add_ref(reference(stream, stream, row));
    }
    let mut producers = 0i64;
    for id in &part.forget {
        producers -= i64::from(state.producers.remove(&(stream, id.clone())).is_some());
    }
    for row in &part.producers {
        producers += i64::from(state.producer(stream, &row.id).is_none());
        state.put_producer(row.clone());
    }
    let added: u64 = part.refs.iter().map(|row| row.bytes).sum();
    let deadline = state.stream(stream).and_then(|row| stream::persisted_deadline(state, row, part.deadline));
    state.change_stream(stream, |row| {
        row.end = part.end;
        row.last_timestamp = row.last_timestamp.max(part.last_timestamp);
        row.sealed = part.sealed;
        row.bytes += added;
        row.producers = u32::try_from(i64::from(row.producers) + producers).unwrap_or(0);
        if part.stream_seq.is_some() {
            row.stream_seq.clone_from(&part.stream_seq);
        }
        if part.checkpoint.is_some() {
            row.checkpoint.clone_from(&part.checkpoint);
        }
        row.deadline = deadline;
    });
}

/// The row of a reference that a command brings in.
pub(super) fn reference(stream: StreamId, source: StreamId, row: &ObjectRef) -> ObjectRefRow {
    ObjectRefRow {
        stream,
        base: row.base,
        end: row.end,
        object: row.object,
        source,
        first_timestamp: row.first_timestamp,
        last_timestamp: row.last_timestamp,
        bytes: row.bytes,
    }
}
