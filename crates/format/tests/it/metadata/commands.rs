//! One example of every command, with every part of it in use.

use bytes::Bytes;
use kelda_format::command::*;
use kelda_format::rows::{
    EntryState, Expiry, FeatureRange, ForkPoint, KeySpace, ObjectKind, ProducerId, Retention, StreamKind,
    WalKind,
};
use kelda_format::{
    Epoch, NodeId, ObjectId, Offset, SessionEpoch, SessionId, StreamId, StreamName, Timestamp, TransferId,
};

use super::{SESSION, nonce, rows};

const AT: Timestamp = Timestamp(1_750_000_000_123);
const STREAM: StreamId = StreamId(0x1234);
const OTHER: SessionId = SessionId { node: NodeId(8), epoch: SessionEpoch(2) };

pub fn name() -> StreamName {
    StreamName::parse("logs/größe").unwrap()
}

fn arguments() -> Vec<(String, String)> {
    vec![("x-queue-type".to_owned(), "stream".to_owned()), ("x-max-age".to_owned(), "7D".to_owned())]
}

fn retention() -> Retention {
    Retention { max_age_ms: Some(604_800_000), max_bytes: None, segment_bytes: Some(500_000_000) }
}

pub fn all() -> Vec<Command> {
    [nodes(), streams(), holders(), objects(), transfers_and_keys()].concat()
}

fn nodes() -> Vec<Command> {
    vec![
        RegisterNode {
            node: SESSION.node,
            nonce: nonce(2),
            address: "10.0.0.7:4437".to_owned(),
            slots: 128,
            features: FeatureRange { min: 1, max: 2 },
            wal: WalKind::Object,
            takeover: Some(OTHER),
            at: AT,
        }
        .into(),
        UpdateNode {
            node: SESSION.node,
            expected_version: 4,
            address: Some("10.0.0.8:4437".to_owned()),
            slots: None,
            draining: Some(true),
            retire: false,
        }
        .into(),
        FenceSession { session: OTHER, by: SESSION }.into(),
        CloseSession { session: SESSION, wal_start: 900 }.into(),
        CompleteRecovery { session: OTHER, by: SESSION, wal_start: 41, at: AT }.into(),
        RaiseFeatureLevel { expected: 1, level: 2 }.into(),
    ]
}

fn streams() -> Vec<Command> {
    vec![
        CreateStream {
            name: name(),
            kind: StreamKind::Stream,
            content_type: "application/json".to_owned(),
            expiry: Expiry::Sliding { ttl_ms: 3_600_000 },
            retention: retention(),
            arguments: arguments(),
            parent: Some(ForkPoint { stream: StreamId(17), offset: Offset(1000) }),
            initialising: true,
            at: AT,
            open: Some(SESSION),
        }
        .into(),
        PutEntry {
            name: name(),
            stream: STREAM,
            expected_version: 77,
            state: Some(EntryState::Live),
            expiry: Some(Expiry::At(AT)),
            retention: Some(retention()),
            arguments: Some(arguments()),
            at: AT,
        }
        .into(),
        DeleteEntry { name: name(), stream: STREAM, expected_version: 78, at: AT }.into(),
        TrimStream {
            stream: STREAM,
            session: Some(SESSION),
            epoch: Some(Epoch(3)),
            before: Offset(500),
            at: AT,
        }
        .into(),
        DeleteStream { stream: STREAM, name: name(), session: None, epoch: None, at: AT }.into(),
        ExpireStream { stream: STREAM, session: Some(SESSION), epoch: Some(Epoch(3)), at: AT }.into(),
    ]
}

fn holders() -> Vec<Command> {
    vec![
        OpenStream { stream: STREAM, session: SESSION }.into(),
        PlaceStream { stream: STREAM, expected_epoch: Some(Epoch(0)) }.into(),
        CloseStream {
            stream: STREAM,
            session: SESSION,
            epoch: Epoch(3),
            end: Offset(2000),
            deadline: Some(AT),
        }
        .into(),
    ]
}

fn reference() -> ObjectRef {
    ObjectRef {
        base: Offset(1000),
        end: Offset(2000),
        object: ObjectId(0x55AA),
        first_timestamp: Timestamp(AT.0 - 50),
        last_timestamp: AT,
        bytes: 65_536,
    }
}

fn part() -> CommitPart {
    CommitPart {
        stream: STREAM,
        epoch: Epoch(3),
        expected_end: Offset(1000),
        end: Offset(2000),
        last_timestamp: AT,
        sealed: true,
        stream_seq: Some(Bytes::from_static(b"0007")),
        checkpoint: Some(Bytes::from_static(b"\x00queue")),
        deadline: Some(AT),
        forget: vec![ProducerId::new("gone")],
        producers: vec![rows::producer()],
        refs: vec![reference()],
    }
}

fn objects() -> Vec<Command> {
    let new = NewObject { id: ObjectId(0x55AA), kind: ObjectKind::Segment, bytes: 67_108_864 };
    let packed = NewObject { id: ObjectId(0x55AB), kind: ObjectKind::Packed, bytes: 1 };
    let compacted = CompactPart {
        stream: STREAM,
        source: StreamId(17),
        inputs: vec![CompactInput { base: Offset(1000), object: ObjectId(5) }],
        refs: vec![reference()],
    };
    vec![
        ReserveObjects { session: SESSION, count: 16, at: AT }.into(),
        CommitObjects {
            session: SESSION,
            wal: OTHER,
            expect_wal_start: 40,
            wal_start: 41,
            objects: vec![new],
            parts: vec![part()],
            at: AT,
        }
        .into(),
        CompactObjects { session: SESSION, objects: vec![new, packed], parts: vec![compacted], at: AT }
            .into(),
        CleanObjects { session: SESSION, objects: vec![ObjectId(5), ObjectId(300)] }.into(),
        ExpireReservations { owner: Some(OTHER), before: Timestamp(AT.0 - 1), at: AT }.into(),
    ]
}

fn transfers_and_keys() -> Vec<Command> {
    vec![
        StartTransfer { stream: STREAM, expected_epoch: Epoch(3), target: OTHER, at: AT }.into(),
        CompleteTransfer {
            transfer: TransferId(9),
            stream: STREAM,
            session: SESSION,
            epoch: Epoch(3),
            end: Offset(2000),
            deadline: None,
        }
        .into(),
        AbortTransfer { transfer: TransferId(9), stream: STREAM }.into(),
        PutKey {
            space: KeySpace::Binding,
            key: Bytes::from_static(b"exchange/queue"),
            value: Bytes::from_static(b"{}"),
            expected_version: Some(6),
        }
        .into(),
        DeleteKey { space: KeySpace::Setting, key: Bytes::from_static(b"max-streams"), expected_version: 7 }
            .into(),
    ]
}
