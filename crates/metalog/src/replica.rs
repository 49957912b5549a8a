//! The state as the entries read so far make it: owns decoding and applying, guarantees that entries are applied
//! in order, each once, and none that does not decode or belongs to another cluster; never skips one.

use std::sync::Arc;

use bytes::Bytes;
use kelda_format::rows::CommandResult;
use kelda_format::{ClusterId, LogEntry};
use kelda_meta::{ApplyError, State};

use crate::codec::{self, Undecodable};

/// The outcomes of one entry's commands, in their order.
pub(crate) type Outcomes = Vec<CommandResult>;

/// Why the metadata plane cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// An entry does not decode; skipping it would fork this node from the others.
    #[error("entry {index} of the metadata log does not decode: {detail}")]
    Entry {
        /// The entry.
        index: u64,
        /// What is wrong with it.
        detail: String,
    },
    /// A snapshot does not decode; it is kept aside, and nothing is deleted.
    #[error("the metadata snapshot at {index} does not decode and was put in quarantine: {detail}")]
    Snapshot {
        /// The index of the snapshot.
        index: u64,
        /// What is wrong with it.
        detail: String,
    },
    /// Written by a newer version of Kelda.
    #[error(
        "{what} has format version {found}, this version of Kelda knows up to {known}: use a newer version"
    )]
    Newer {
        /// Which entry or snapshot.
        what: String,
        /// The version found.
        found: u32,
        /// The newest version known.
        known: u32,
    },
    /// The log belongs to another cluster.
    #[error("{what} belongs to cluster {found}, and this is cluster {expected}")]
    OtherCluster {
        /// Which entry or snapshot.
        what: String,
        /// The cluster found.
        found: ClusterId,
        /// The cluster expected.
        expected: ClusterId,
    },
    /// The log contradicts itself or what was read of it before.
    #[error("{0}")]
    Log(String),
}

/// A state and its place in the log.
#[derive(Debug)]
pub(crate) struct Replica {
    state: Arc<State>,
    /// Bytes of entries since this value was made; differences of it measure the log.
    bytes: u64,
}

impl Replica {
    pub(crate) fn empty(cluster: ClusterId) -> Self {
        Self { state: Arc::new(State::new(cluster)), bytes: 0 }
    }

    /// The state of a snapshot.
    pub(crate) fn decode(expected: Option<ClusterId>, index: u64, snapshot: &Bytes) -> Result<Self, Stop> {
        let what = || format!("the metadata snapshot at {index}");
        let state = codec::decode_snapshot(index, snapshot).map_err(|error| match error {
            Undecodable::Newer { found, known } => Stop::Newer { what: what(), found, known },
            Undecodable::Damaged(detail) => Stop::Snapshot { index, detail },
        })?;
        match expected {
            Some(expected) if expected != state.cluster() => {
                Err(Stop::OtherCluster { what: what(), found: state.cluster(), expected })
            }
            _ => Ok(Self { state: Arc::new(state), bytes: 0 }),
        }
    }

    pub(crate) fn cluster(&self) -> ClusterId {
        self.state.cluster()
    }

    pub(crate) fn applied(&self) -> u64 {
        self.state.applied()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn state(&self) -> &Arc<State> {
        &self.state
    }

    /// Applies the next entry; also returns what it was.
    pub(crate) fn apply(&mut self, index: u64, bytes: &Bytes) -> Result<(LogEntry, Outcomes), Stop> {
        let entry = decode_entry(index, bytes)?;
        let applied = Arc::make_mut(&mut self.state).apply_entry(index, &entry);
        let outcomes = applied.map_err(|error| match error {
            ApplyError::OtherCluster { expected, found } => {
                Stop::OtherCluster { what: format!("entry {index} of the metadata log"), found, expected }
            }
            ApplyError::NotNext { .. } => Stop::Log(error.to_string()),
        })?;
        self.bytes += bytes.len() as u64;
        Ok((entry, outcomes))
    }

    /// Goes on from a snapshot that is ahead.
    pub(crate) fn reinstall(&mut self, newer: Replica) {
        assert!(newer.applied() > self.applied(), "a replica never goes back");
        self.state = newer.state;
    }
}

pub(crate) fn decode_entry(index: u64, bytes: &Bytes) -> Result<LogEntry, Stop> {
    codec::decode_entry(bytes).map_err(|error| match error {
        Undecodable::Newer { found, known } => {
            Stop::Newer { what: format!("entry {index} of the metadata log"), found, known }
        }
        Undecodable::Damaged(detail) => Stop::Entry { index, detail },
    })
}
