//! Commands about objects.

use bytes::Bytes;
use kelda_format::command::{
    CleanObjects, CommitObjects, CommitPart, CompactInput, CompactObjects, CompactPart, ExpireReservations,
    NewObject, ObjectRef, ReserveObjects,
};
use kelda_format::rows::{ObjectKind, ObjectRefRow, ProducerId, SessionState, StreamRow};
use kelda_format::{Epoch, ObjectId, Offset, SessionId, StreamId, Timestamp};
use kelda_meta::producers::{ProducerClaim, advance};
use kelda_meta::{Command, State};

use super::{Generator, cluster};

pub fn reserve(make: &mut Generator, state: &State) -> Command {
    let count = u32::try_from(make.random.below(5)).unwrap();
    ReserveObjects { session: make.session(state), count, at: make.now }.into()
}

/// Up to two objects that the session has reserved, now and then one that it has not.
fn new_objects(make: &mut Generator, state: &State, session: SessionId) -> Vec<NewObject> {
    let mut ids: Vec<ObjectId> =
        state.reservations().filter(|row| row.session == session).map(|row| row.object).take(2).collect();
    if make.random.percent(make.bend) {
        ids.push(ObjectId(make.random.below(state.numbers().next_object + 1)));
    }
    ids.into_iter()
        .map(|id| NewObject { id, kind: ObjectKind::Packed, bytes: make.random.below(1 << 20) })
        .collect()
}

pub fn commit(make: &mut Generator, state: &State) -> Command {
    let session = make.session(state);
    let any_fenced = state.sessions().any(|row| row.state == SessionState::Fenced);
    let wal = if any_fenced && make.random.percent(40) { cluster::fenced(make, state) } else { session };
    let start = state.session(wal).map_or(0, |row| row.wal_start);
    let expect_wal_start = make.bent(start);
    let objects = new_objects(make, state, session);
    let mut parts = Vec::new();
    if !objects.is_empty() {
        let streams: Vec<StreamId> = state.held_by(wal).filter(|_| make.random.percent(50)).collect();
        for stream in streams {
            let row = state.stream(stream).unwrap();
            parts.push(part(make, state, row, &objects));
        }
    }
    let deleted = StreamId(make.random.below(state.numbers().next_stream));
    if make.random.percent(20) && state.is_gone(deleted) {
        parts.push(part_of_deleted(deleted, &objects));
    }
    CommitObjects {
        session,
        wal,
        expect_wal_start,
        wal_start: expect_wal_start + make.bent(1),
        objects,
        parts,
        at: make.now,
    }
    .into()
}

fn part(make: &mut Generator, state: &State, row: &StreamRow, objects: &[NewObject]) -> CommitPart {
    let expected_end = Offset(make.bent(row.end.0));
    let sealed = row.sealed || make.random.percent(3);
    let mut refs: Vec<ObjectRef> = Vec::new();
    let mut producers = Vec::new();
    let (mut end, mut time) = (expected_end, row.last_timestamp);
    let last_row = state.producer(row.id, &ProducerId::new("p"));
    for object in objects {
        if row.sealed || make.random.percent(30) {
            continue;
        }
        let count = 1 + make.random.below(20);
        let last = time.plus_ms(make.random.below(40));
        let (base, next) = (end, Offset(make.bent(end.0 + count)));
        refs.push(reference(make, base, next, object.id, time, last));
        (end, time) = (next, last);
    }
    if end > expected_end && make.random.percent(40) {
        let seq = last_row.map_or(0, |row| row.seq + 1);
        let claim = ProducerClaim { id: ProducerId::new("p"), epoch: make.bent(0), seq: make.bent(seq) };
        producers.push(advance(last_row, row.id, &claim, expected_end, 1, make.now));
    }
    let epoch = make.bent_epoch(row.epoch);
    CommitPart {
        stream: row.id,
        epoch,
        expected_end,
        end,
        last_timestamp: Timestamp(make.bent(time.0)),
        sealed,
        stream_seq: make.random.percent(20).then(|| Bytes::from_static(b"seq")),
        checkpoint: make.random.percent(20).then(|| Bytes::from_static(b"state")),
        deadline: make.random.percent(20).then(|| make.now.plus_ms(3_000)),
        forget: if make.random.percent(10) { vec![ProducerId::new("p")] } else { Vec::new() },
        producers,
        refs,
    }
}

fn reference(
    make: &mut Generator,
    base: Offset,
    end: Offset,
    object: ObjectId,
    first_timestamp: Timestamp,
    last_timestamp: Timestamp,
) -> ObjectRef {
    ObjectRef { base, end, object, first_timestamp, last_timestamp, bytes: make.random.below(1 << 12) }
}

fn part_of_deleted(stream: StreamId, objects: &[NewObject]) -> CommitPart {
    let refs = objects.iter().take(1).map(|object| ObjectRef {
        base: Offset(0),
        end: Offset(5),
        object: object.id,
        first_timestamp: Timestamp(1),
        last_timestamp: Timestamp(1),
        bytes: 10,
    });
    CommitPart {
        stream,
        epoch: Epoch(0),
        expected_end: Offset(0),
        end: Offset(5),
        last_timestamp: Timestamp(1),
        sealed: false,
        stream_seq: None,
        checkpoint: None,
        deadline: None,
        forget: Vec::new(),
        producers: Vec::new(),
        refs: refs.collect(),
    }
}

pub fn compact(make: &mut Generator, state: &State) -> Command {
    let session = make.session(state);
    let stream = make.stream(state, |row| row.end > row.start);
    let objects = new_objects(make, state, session);
    let rows: Vec<ObjectRefRow> = state.refs(stream).copied().collect();
    let from = usize::try_from(make.random.below(rows.len() as u64 + 1)).unwrap();
    let inputs = &rows[from..rows.len().min(from + 3)];
    let mut refs = Vec::new();
    if let (Some(first), Some(last), Some(object)) = (inputs.first(), inputs.last(), objects.first()) {
        let start = state.stream(stream).map_or(first.base, |row| row.start);
        let base = if start > first.base && make.random.percent(50) { start } else { first.base };
        let (base, end) = (Offset(make.bent(base.0)), Offset(make.bent(last.end.0)));
        refs.push(reference(make, base, end, object.id, first.first_timestamp, last.last_timestamp));
    }
    let mut inputs: Vec<CompactInput> =
        inputs.iter().map(|row| CompactInput { base: row.base, object: row.object }).collect();
    if make.random.percent(make.bend) {
        inputs.pop();
    }
    let source = if make.random.percent(50) { rows.first().map_or(stream, |row| row.source) } else { stream };
    CompactObjects {
        session,
        objects,
        parts: vec![CompactPart { stream, source, inputs, refs }],
        at: make.now,
    }
    .into()
}

pub fn clean(make: &mut Generator, state: &State) -> Command {
    let mut objects: Vec<ObjectId> = state.objects_to_destroy().map(|row| row.object).take(3).collect();
    if make.random.percent(make.bend) {
        objects.push(ObjectId(make.random.below(state.numbers().next_object + 2)));
    }
    CleanObjects { session: make.session(state), objects }.into()
}

pub fn expire_reservations(make: &mut Generator, state: &State) -> Command {
    let ago = make.random.below(3_000);
    let future = make.random.percent(make.bend);
    let before = if future { make.now.plus_ms(1) } else { Timestamp(make.now.0 - ago) };
    let owner = make.random.percent(60).then(|| make.session(state));
    ExpireReservations { owner, before, at: make.now }.into()
}
