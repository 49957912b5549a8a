//! The state: owns the maps of all rows and what is derived from them. Guarantees cheap clones (persistent
//! maps) and equality of states that hold the same rows. Never changes except through `apply` and snapshots.

use std::sync::Arc;

use bytes::Bytes;
use imbl::{OrdMap, OrdSet};
use kelda_format::rows::{
    ClusterRow, DestroyRow, EntryRow, KeyRow, KeySpace, NodeRow, ObjectRefRow, ObjectRow, ProducerId,
    ProducerRow, ReservationRow, SessionRow, StreamRow, TransferRow,
};
use kelda_format::{ClusterId, NodeId, ObjectId, Offset, SessionId, StreamId, StreamName, Timestamp};

/// The feature level that a new cluster starts with.
pub const FIRST_FEATURE_LEVEL: u16 = 1;

/// Everything the cluster remembers. Clones share all rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    pub(crate) cluster: ClusterId,
    /// The index of the last log entry applied; 0 before the first.
    pub(crate) applied: u64,
    pub(crate) numbers: ClusterRow,
    pub(crate) nodes: OrdMap<NodeId, Arc<NodeRow>>,
    pub(crate) sessions: OrdMap<SessionId, Arc<SessionRow>>,
    pub(crate) streams: OrdMap<StreamId, Arc<StreamRow>>,
    pub(crate) entries: OrdMap<StreamName, Arc<EntryRow>>,
    pub(crate) producers: OrdMap<(StreamId, ProducerId), Arc<ProducerRow>>,
    pub(crate) refs: OrdMap<(StreamId, Offset), ObjectRefRow>,
    pub(crate) objects: OrdMap<ObjectId, ObjectRow>,
    pub(crate) reservations: OrdMap<ObjectId, ReservationRow>,
    pub(crate) destroy: OrdMap<ObjectId, DestroyRow>,
    /// Pending transfers; a stream has at most one.
    pub(crate) transfers: OrdMap<StreamId, TransferRow>,
    pub(crate) keys: OrdMap<(KeySpace, Bytes), Arc<KeyRow>>,
    pub(crate) derived: Derived,
}

/// What follows from the rows, kept so that it need not be searched for. Never stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Derived {
    /// The streams that each session holds.
    pub(crate) held: OrdSet<(SessionId, StreamId)>,
    /// How many streams each session holds; no zeros.
    pub(crate) held_count: OrdMap<SessionId, u64>,
    /// How many forks of each stream have an entry; no zeros.
    pub(crate) forks: OrdMap<StreamId, u64>,
    /// The names of soft-deleted streams.
    pub(crate) soft_deleted: OrdMap<StreamId, StreamName>,
    /// The deadlines of the streams that have one.
    pub(crate) deadlines: OrdSet<(Timestamp, StreamId)>,
    /// The streams whose entry bounds what they keep.
    pub(crate) bounded: OrdSet<StreamId>,
    /// Bytes of each object that streams refer to; a range that two streams share counts twice.
    pub(crate) live: OrdMap<ObjectId, u64>,
}

impl State {
    /// The state of a cluster in which nothing has happened.
    #[must_use]
    pub fn new(cluster: ClusterId) -> State {
        State::at_feature_level(cluster, FIRST_FEATURE_LEVEL)
    }

    /// As [`State::new`], for a cluster that starts at another feature level.
    #[must_use]
    pub fn at_feature_level(cluster: ClusterId, feature_level: u16) -> State {
        let numbers =
            ClusterRow { feature_level, next_stream: 1, next_object: 1, next_transfer: 1, next_version: 1 };
        State::empty(cluster, 0, numbers)
    }

    pub(crate) fn empty(cluster: ClusterId, applied: u64, numbers: ClusterRow) -> State {
        State {
            cluster,
            applied,
            numbers,
            nodes: OrdMap::new(),
            sessions: OrdMap::new(),
            streams: OrdMap::new(),
            entries: OrdMap::new(),
            producers: OrdMap::new(),
            refs: OrdMap::new(),
            objects: OrdMap::new(),
            reservations: OrdMap::new(),
            destroy: OrdMap::new(),
            transfers: OrdMap::new(),
            keys: OrdMap::new(),
            derived: Derived::default(),
        }
    }

    /// The cluster.
    #[must_use]
    pub fn cluster(&self) -> ClusterId {
        self.cluster
    }

    /// The index of the last log entry applied; 0 before the first, which is at index 1.
    #[must_use]
    pub fn applied(&self) -> u64 {
        self.applied
    }

    /// The level that commands and formats may use.
    #[must_use]
    pub fn feature_level(&self) -> u16 {
        self.numbers.feature_level
    }

    /// The numbers of the cluster itself.
    #[must_use]
    pub fn numbers(&self) -> ClusterRow {
        self.numbers
    }
}
