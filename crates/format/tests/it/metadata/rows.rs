//! One example of every row, with every part of it in use.

use bytes::Bytes;
use kelda_format::rows::{
    ClusterRow, DestroyReason, DestroyRow, EntryRow, EntryState, Expiry, FeatureRange, FlushRow, ForkPoint,
    KeyRow, KeySpace, NodeRow, ObjectKind, ObjectRefRow, ObjectRow, ProducerId, ProducerResult, ProducerRow,
    ReservationRow, Retention, SessionRow, SessionState, StreamKind, StreamRow, TransferRow, WalKind,
};
use kelda_format::snapshot::SnapshotRow;
use kelda_format::{
    Epoch, NodeId, ObjectId, Offset, Outcome, Rejection, SessionEpoch, SessionId, StreamId, Timestamp,
    TransferId,
};

use super::commands::name;
use super::{SESSION, nonce};

const AT: Timestamp = Timestamp(1_750_000_000_123);
const STREAM: StreamId = StreamId(0x1234);

pub fn all() -> Vec<SnapshotRow> {
    let numbers = ClusterRow {
        feature_level: 1,
        next_stream: 0x1235,
        next_object: 0x55AC,
        next_transfer: 10,
        next_version: 79,
    };
    let mut rows =
        vec![SnapshotRow::Cluster(numbers), SnapshotRow::Node(node()), SnapshotRow::Session(session())];
    rows.extend([
        SnapshotRow::Entry(entry()),
        SnapshotRow::Stream(stream()),
        SnapshotRow::Producer(producer()),
    ]);
    rows.extend(objects());
    rows.push(SnapshotRow::Transfer(TransferRow {
        id: TransferId(9),
        stream: STREAM,
        source: SESSION,
        target: SessionId { node: NodeId(8), epoch: SessionEpoch(2) },
        epoch: Epoch(3),
        started: AT,
    }));
    rows.push(SnapshotRow::Key(KeyRow {
        space: KeySpace::AccessToken,
        key: Bytes::from_static(b"ci"),
        value: Bytes::from_static(b"\x01\x02"),
        version: 6,
    }));
    rows
}

fn node() -> NodeRow {
    NodeRow {
        node: SESSION.node,
        address: "10.0.0.7:4437".to_owned(),
        slots: 128,
        draining: true,
        retired: false,
        features: FeatureRange { min: 1, max: 2 },
        session_epoch: SESSION.epoch,
        nonce: nonce(2),
        version: 5,
        registered: AT,
    }
}

fn session() -> SessionRow {
    let results = [
        Ok(Outcome::Reserved { first: ObjectId(0x55AA), count: 2 }),
        Err(Rejection::StreamGone { stream: StreamId(3) }),
    ];
    SessionRow {
        id: SESSION,
        nonce: nonce(2),
        state: SessionState::Live,
        wal: WalKind::Local,
        wal_start: 41,
        last_flush: Some(FlushRow { flush: 12, nonce: nonce(3), results: results.into() }),
    }
}

fn entry() -> EntryRow {
    EntryRow {
        name: name(),
        stream: STREAM,
        kind: StreamKind::Queue,
        state: EntryState::Initialising,
        parent: Some(ForkPoint { stream: StreamId(17), offset: Offset(1000) }),
        content_type: "text/plain".to_owned(),
        expiry: Expiry::Sliding { ttl_ms: 3_600_000 },
        retention: Retention { max_age_ms: None, max_bytes: Some(1_000_000_000), segment_bytes: None },
        arguments: vec![("x-queue-type".to_owned(), "stream".to_owned())],
        created: AT,
        version: 78,
    }
}

fn stream() -> StreamRow {
    StreamRow {
        id: STREAM,
        name: name(),
        kind: StreamKind::Queue,
        epoch: Some(Epoch(3)),
        owner: Some(SESSION),
        start: Offset(500),
        end: Offset(2000),
        last_timestamp: AT,
        sealed: true,
        bytes: 65_536,
        producers: 1,
        stream_seq: Some(Bytes::from_static(b"0007")),
        checkpoint: Some(Bytes::from_static(b"\x00queue")),
        deadline: Some(AT),
    }
}

pub fn producer() -> ProducerRow {
    ProducerRow {
        stream: STREAM,
        id: ProducerId::new("producer-größe"),
        epoch: 2,
        seq: 130,
        last_seen: AT,
        next_offset: Offset(2000),
        results: vec![
            ProducerResult { seq: 129, first_offset: Offset(1000), count: 999 },
            ProducerResult { seq: 130, first_offset: Offset(1999), count: 1 },
        ],
    }
}

fn objects() -> Vec<SnapshotRow> {
    let object = ObjectId(0x55AA);
    let reference = ObjectRefRow {
        stream: STREAM,
        base: Offset(400),
        end: Offset(2000),
        object,
        source: StreamId(17),
        first_timestamp: Timestamp(AT.0 - 50),
        last_timestamp: AT,
        bytes: 65_536,
    };
    let reservation = ReservationRow { object: ObjectId(0x55AB), session: SESSION, at: AT };
    let destroy = DestroyRow { object: ObjectId(5), queued_at: AT, reason: DestroyReason::Unreferenced };
    vec![
        SnapshotRow::Object(ObjectRow { id: object, kind: ObjectKind::Packed, bytes: 67_108_864, refs: 1 }),
        SnapshotRow::Ref(reference),
        SnapshotRow::Reservation(reservation),
        SnapshotRow::Destroy(destroy),
    ]
}
