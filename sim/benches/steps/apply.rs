//! The metadata machine with 1,000,000 streams: one command at a time, on a state that others still look at.

use criterion::{BatchSize, Criterion};
use kelda_format::command::{
    CommitObjects, CommitPart, CreateStream, NewObject, ObjectRef, OpenStream, RegisterNode, ReserveObjects,
};
use kelda_format::rows::{Expiry, FeatureRange, Nonce, ObjectKind, Retention, StreamKind, WalKind};
use kelda_format::{ClusterId, Epoch, NodeId, ObjectId, Offset, SessionId, StreamId, StreamName, Timestamp};
use kelda_meta::{Command, Outcome, State};

const STREAMS: usize = 1_000_000;
const NOW: Timestamp = Timestamp(1_000_000);
/// Streams of one commit: of a node that serves one, and of nodes that serve many.
const PARTS: [usize; 3] = [1, 1000, 10_000];

pub fn creation(name: &str) -> Command {
    let create = CreateStream {
        name: StreamName::parse(name).unwrap(),
        kind: StreamKind::Stream,
        content_type: "application/json".to_owned(),
        expiry: Expiry::Never,
        retention: Retention::default(),
        arguments: Vec::new(),
        parent: None,
        initialising: false,
        at: NOW,
        open: None,
    };
    create.into()
}

fn registered(state: &mut State) -> SessionId {
    let register = RegisterNode {
        node: NodeId(1),
        nonce: Nonce([1; 16]),
        address: "node-1:4437".to_owned(),
        slots: 1,
        features: FeatureRange { min: 1, max: 1 },
        wal: WalKind::Object,
        takeover: None,
        at: NOW,
    };
    match state.apply(&register.into()) {
        Ok(Outcome::Registered { session }) => session,
        other => panic!("{other:?}"),
    }
}

fn full(count: usize) -> (State, Vec<StreamId>) {
    let mut state = State::new(ClusterId([7; 16]));
    let create = |index: usize| creation(&format!("tenants/{}/sensors/{index:07}", index % 100));
    let streams = (0..count).map(|index| match state.apply(&create(index)) {
        Ok(Outcome::Created { stream, .. }) => stream,
        other => panic!("{other:?}"),
    });
    let streams = streams.collect();
    (state, streams)
}

pub fn all(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group(format!("apply with {STREAMS} streams"));
    let (mut state, streams) = full(STREAMS);
    let session = registered(&mut state);
    let mut bench = |name: String, command: Command, state: &State| {
        group.bench_function(name, |bencher| {
            bencher.iter_batched(
                || state.clone(),
                |mut state| {
                    state.apply(&command).unwrap();
                    state
                },
                BatchSize::SmallInput,
            );
        });
    };
    bench("create".to_owned(), creation("tenants/7/sensors/new"), &state);
    let open = OpenStream { stream: streams[STREAMS / 2], session };
    bench("open".to_owned(), open.into(), &state);
    for parts in PARTS {
        let mut state = state.clone();
        let command = commit(&mut state, session, &spread(&streams, parts));
        bench(format!("commit of {parts} streams"), command, &state);
    }
    group.finish();
}

/// `count` of the streams, all over the state.
fn spread(streams: &[StreamId], count: usize) -> Vec<StreamId> {
    streams.iter().copied().step_by(streams.len() / count).take(count).collect()
}

/// Opens the streams and commits an object with a hundred records of each.
fn commit(state: &mut State, session: SessionId, streams: &[StreamId]) -> Command {
    for stream in streams {
        state.apply(&OpenStream { stream: *stream, session }.into()).unwrap();
    }
    let object = match state.apply(&ReserveObjects { session, count: 1, at: NOW }.into()) {
        Ok(Outcome::Reserved { first, .. }) => first,
        other => panic!("{other:?}"),
    };
    let wal_start = state.session(session).unwrap().wal_start;
    let commit = CommitObjects {
        session,
        wal: session,
        expect_wal_start: wal_start,
        wal_start: wal_start + 1,
        objects: vec![NewObject { id: object, kind: ObjectKind::Segment, bytes: 64 << 20 }],
        parts: streams.iter().map(|stream| part(*stream, object)).collect(),
        at: NOW,
    };
    commit.into()
}

fn part(stream: StreamId, object: ObjectId) -> CommitPart {
    let end = Offset(100);
    let reference = ObjectRef {
        base: Offset::ZERO,
        end,
        object,
        first_timestamp: NOW,
        last_timestamp: NOW,
        bytes: 102_400,
    };
    CommitPart {
        stream,
        epoch: Epoch(0),
        expected_end: Offset::ZERO,
        end,
        last_timestamp: NOW,
        sealed: false,
        stream_seq: None,
        checkpoint: None,
        deadline: None,
        forget: Vec::new(),
        producers: Vec::new(),
        refs: vec![reference],
    }
}
