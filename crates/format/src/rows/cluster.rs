//! Rows of the cluster, its nodes and their sessions: own what is known of who takes part.
//!
//! A session row keeps the outcome of its last flush, so that a repeat is answered (P21).

use std::fmt;
use std::sync::Arc;

use crate::limits::MAX_COMMANDS_PER_ENTRY;
use crate::outcome::Outcome;
use crate::rejection::Rejection;
use crate::wire::{DecodeError, Reader, Wire, put_varint, wire_enum, wire_struct};
use crate::{NodeId, SessionEpoch, SessionId, Timestamp};

wire_struct! {
    /// The numbers of the cluster itself.
    #[derive(Copy)]
    pub struct ClusterRow {
        /// The level that commands and formats may use.
        pub feature_level: u16,
        /// The next stream id.
        pub next_stream: u64,
        /// The next object id.
        pub next_object: u64,
        /// The next transfer id.
        pub next_transfer: u64,
        /// The next version of an entry or key.
        pub next_version: u64,
    }
}

/// Sixteen random bytes chosen by a proposer, by which it knows its own writes again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Nonce(pub [u8; 16]);

impl fmt::Debug for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Wire for Nonce {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }

    fn get(reader: &mut Reader<'_>) -> Result<Nonce, DecodeError> {
        Ok(Nonce(reader.array()?))
    }
}

wire_struct! {
    /// The feature levels that a node's software knows, both ends included.
    #[derive(Copy)]
    pub struct FeatureRange {
        /// The lowest level it can work at.
        pub min: u16,
        /// The highest level it can work at.
        pub max: u16,
    }
}

impl FeatureRange {
    /// Whether `level` is one of them.
    #[must_use]
    pub fn contains(self, level: u16) -> bool {
        self.min <= level && level <= self.max
    }
}

wire_struct! {
    /// A node of the cluster, as it registered last.
    pub struct NodeRow {
        /// Its id.
        pub node: NodeId,
        /// Where other nodes reach it.
        pub address: String,
        /// Its share of placements relative to other nodes; at least 1.
        pub slots: u32,
        /// Takes no new placements.
        pub draining: bool,
        /// Out of service: does not hold back the feature level. Cleared when the node registers again.
        pub retired: bool,
        /// The feature levels its software knows.
        pub features: FeatureRange,
        /// Its latest session.
        pub session_epoch: SessionEpoch,
        /// The boot nonce of that session.
        pub nonce: Nonce,
        /// Grows with every change of this row.
        pub version: u64,
        /// When it registered last.
        pub registered: Timestamp,
    }
}

wire_enum! {
    /// Where a session keeps its write-ahead log.
    #[derive(Copy)]
    pub enum WalKind {
        /// In segment files of the node's data directory; a slot of the WAL is a segment.
        1 => Local,
        /// In the object store, one object per group; a slot of the WAL is an object.
        2 => Object,
    }

    /// How far a session is with its life.
    #[derive(Copy)]
    pub enum SessionState {
        /// May propose, append and acknowledge.
        1 => Live,
        /// Nothing more is accepted from it; its WAL waits for recovery.
        2 => Fenced,
        /// Ended by itself with everything committed.
        3 => Closed,
        /// Was fenced, and its WAL is committed by a recoverer.
        4 => Recovered,
    }
}

wire_struct! {
    /// One run of one node.
    pub struct SessionRow {
        /// Which run of which node.
        pub id: SessionId,
        /// The boot nonce it registered with.
        pub nonce: Nonce,
        /// How far it is with its life.
        pub state: SessionState,
        /// Where its WAL lies.
        pub wal: WalKind,
        /// The first slot of its WAL that is not committed yet.
        pub wal_start: u64,
        /// The last flush of its proposals that was applied, with what came of it (P21).
        pub last_flush: Option<FlushRow>,
    }
}

/// What one command came to.
pub type CommandResult = Result<Outcome, Rejection>;

/// What came of one flush of proposals (P21).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlushRow {
    /// The number that the session gave the flush; they grow.
    pub flush: u64,
    /// The nonce of the log entry.
    pub nonce: Nonce,
    /// One result per command of the entry, in its order.
    pub results: Arc<[CommandResult]>,
}

impl Wire for FlushRow {
    fn put(&self, out: &mut Vec<u8>) {
        self.flush.put(out);
        self.nonce.put(out);
        put_varint(out, self.results.len() as u64);
        for result in &*self.results {
            out.push(u8::from(result.is_err()));
            match result {
                Ok(outcome) => outcome.put(out),
                Err(rejection) => rejection.put(out),
            }
        }
    }

    fn get(reader: &mut Reader<'_>) -> Result<FlushRow, DecodeError> {
        let flush = u64::get(reader)?;
        let nonce = Nonce::get(reader)?;
        let count = reader.length()?;
        if count > MAX_COMMANDS_PER_ENTRY {
            return Err(reader.error(format!("{count} results, at most {MAX_COMMANDS_PER_ENTRY} allowed")));
        }
        let mut results = Vec::with_capacity(count);
        for _ in 0..count {
            results.push(if bool::get(reader)? {
                Err(Rejection::get(reader)?)
            } else {
                Ok(Outcome::get(reader)?)
            });
        }
        Ok(FlushRow { flush, nonce, results: results.into() })
    }
}
