//! A small cluster for tests: short ways to get to a state, every command followed by the invariants.

use bytes::Bytes;
use kelda_format::command::{
    CommitObjects, CommitPart, CreateStream, FenceSession, NewObject, ObjectRef, OpenStream, RegisterNode,
    ReserveObjects,
};
use kelda_format::rows::{Expiry, FeatureRange, Nonce, ObjectKind, Retention, StreamKind, WalKind};
use kelda_format::{
    ClusterId, Epoch, NodeId, ObjectId, Offset, SessionEpoch, SessionId, StreamId, StreamName, Timestamp,
};
use kelda_meta::{Command, Outcome, Rejection, State, invariants};

pub const CLUSTER: ClusterId = ClusterId(*b"a test's cluster");

/// The time of commands whose time does not matter.
pub const NOW: Timestamp = Timestamp(1_000_000);

pub struct World {
    pub state: State,
}

pub fn name(text: &str) -> StreamName {
    StreamName::parse(text).unwrap()
}

pub fn session(node: u64, epoch: u64) -> SessionId {
    SessionId { node: NodeId(node), epoch: SessionEpoch(epoch) }
}

pub fn registration(node: u64, nonce: u8) -> RegisterNode {
    RegisterNode {
        node: NodeId(node),
        nonce: Nonce([nonce; 16]),
        address: format!("node-{node}:4437"),
        slots: 1,
        features: FeatureRange { min: 1, max: 1 },
        wal: WalKind::Object,
        takeover: None,
        at: NOW,
    }
}

pub fn creation(text: &str) -> CreateStream {
    CreateStream {
        name: name(text),
        kind: StreamKind::Stream,
        content_type: "text/plain".to_owned(),
        expiry: Expiry::Never,
        retention: Retention::default(),
        arguments: Vec::new(),
        parent: None,
        initialising: false,
        at: NOW,
        open: None,
    }
}

/// A part that commits `expected_end..end` in one reference to `object`; every record is one byte, and its
/// offset is its time.
pub fn part(stream: StreamId, epoch: u64, expected_end: u64, end: u64, object: ObjectId) -> CommitPart {
    let refs = if end > expected_end { vec![reference(expected_end, end, object)] } else { Vec::new() };
    CommitPart {
        stream,
        epoch: Epoch(epoch),
        expected_end: Offset(expected_end),
        end: Offset(end),
        last_timestamp: Timestamp(end),
        sealed: false,
        stream_seq: None,
        checkpoint: None,
        deadline: None,
        forget: Vec::new(),
        producers: Vec::new(),
        refs,
    }
}

pub fn reference(base: u64, end: u64, object: ObjectId) -> ObjectRef {
    ObjectRef {
        base: Offset(base),
        end: Offset(end),
        object,
        first_timestamp: Timestamp(base),
        last_timestamp: Timestamp(end - 1),
        bytes: end - base,
    }
}

pub fn new_object(id: ObjectId) -> NewObject {
    NewObject { id, kind: ObjectKind::Segment, bytes: 4096 }
}

pub fn bytes(text: &'static str) -> Bytes {
    Bytes::from_static(text.as_bytes())
}

impl World {
    pub fn new() -> World {
        World { state: State::new(CLUSTER) }
    }

    /// Applies a command; checks that a rejection changes nothing and that the invariants hold afterwards.
    pub fn try_apply(&mut self, command: impl Into<Command>) -> Result<Outcome, Rejection> {
        let command = command.into();
        let before = self.state.clone();
        let result = self.state.apply(&command);
        match &result {
            Ok(Outcome::AlreadyApplied | Outcome::Exists { .. }) | Err(_) => {
                assert_eq!(before, self.state, "{command:?} gave {result:?} and changed the state");
            }
            Ok(_) => assert_ne!(before, self.state, "{command:?} gave {result:?} and changed nothing"),
        }
        if let Err(fault) = invariants::check(&self.state) {
            panic!("after {command:?}, which gave {result:?}: {fault}");
        }
        result
    }

    /// Applies a command that has to be accepted.
    pub fn apply(&mut self, command: impl Into<Command>) -> Outcome {
        self.try_apply(command).unwrap()
    }

    /// Applies a command that has to be rejected.
    pub fn rejected(&mut self, command: impl Into<Command>) -> Rejection {
        self.try_apply(command).unwrap_err()
    }

    /// Registers a node for the first time.
    pub fn node(&mut self, node: u64) -> SessionId {
        match self.apply(registration(node, u8::try_from(node).unwrap())) {
            Outcome::Registered { session } => session,
            other => panic!("{other:?}"),
        }
    }

    pub fn create(&mut self, text: &str) -> StreamId {
        self.create_with(creation(text))
    }

    pub fn create_with(&mut self, command: CreateStream) -> StreamId {
        match self.apply(command) {
            Outcome::Created { stream, .. } => stream,
            other => panic!("{other:?}"),
        }
    }

    pub fn open(&mut self, stream: StreamId, session: SessionId) -> Epoch {
        match self.apply(OpenStream { stream, session }) {
            Outcome::Opened { epoch, .. } => epoch,
            other => panic!("{other:?}"),
        }
    }

    pub fn reserve(&mut self, session: SessionId, count: u32) -> ObjectId {
        match self.apply(ReserveObjects { session, count, at: NOW }) {
            Outcome::Reserved { first, .. } => first,
            other => panic!("{other:?}"),
        }
    }

    /// A commit by the owner of the WAL that brings in `objects` and moves the WAL start by one.
    pub fn commit_of(&self, wal: SessionId, objects: &[ObjectId], parts: Vec<CommitPart>) -> CommitObjects {
        let start = self.state.session(wal).unwrap().wal_start;
        CommitObjects {
            session: wal,
            wal,
            expect_wal_start: start,
            wal_start: start + 1,
            objects: objects.iter().copied().map(new_object).collect(),
            parts,
            at: NOW,
        }
    }

    /// Commits records up to `end` to a stream that `owner` holds, in an object of their own.
    pub fn append(&mut self, stream: StreamId, owner: SessionId, end: u64) -> ObjectId {
        let row = self.state.stream(stream).unwrap();
        let (epoch, expected_end) = (row.epoch.unwrap().0, row.end.0);
        // Times are offsets, or more where the stream is already further.
        let shift = row.last_timestamp.0.saturating_sub(expected_end);
        let object = self.reserve(owner, 1);
        let mut part = part(stream, epoch, expected_end, end, object);
        part.last_timestamp.0 += shift;
        part.refs[0].first_timestamp.0 += shift;
        part.refs[0].last_timestamp.0 += shift;
        let commit = self.commit_of(owner, &[object], vec![part]);
        self.apply(commit);
        object
    }

    pub fn fence(&mut self, session: SessionId, by: SessionId) {
        assert_eq!(self.apply(FenceSession { session, by }), Outcome::Applied);
    }

    pub fn end(&self, stream: StreamId) -> u64 {
        self.state.stream(stream).unwrap().end.0
    }

    pub fn owner(&self, stream: StreamId) -> Option<SessionId> {
        self.state.stream(stream).unwrap().owner
    }

    pub fn to_destroy(&self) -> Vec<ObjectId> {
        self.state.objects_to_destroy().map(|row| row.object).collect()
    }
}
