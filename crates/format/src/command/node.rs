//! Commands about the cluster, its nodes and their sessions.

use crate::rows::{FeatureRange, Nonce, WalKind};
use crate::wire::wire_struct;
use crate::{NodeId, SessionId, Timestamp};

wire_struct! {
    /// A node starts a session (P2).
    pub struct RegisterNode {
        /// The node.
        pub node: NodeId,
        /// Random, of this boot.
        pub nonce: Nonce,
        /// Where other nodes reach it.
        pub address: String,
        /// Its share of placements; at least 1.
        pub slots: u32,
        /// The feature levels its software knows.
        pub features: FeatureRange,
        /// Where its WAL will lie.
        pub wal: WalKind,
        /// The node's earlier live session whose lease was seen lapsed (or whose data directory is locked by
        /// the proposer), so that it may be fenced.
        pub takeover: Option<SessionId>,
        /// Now.
        pub at: Timestamp,
    }

    /// Changes what is known about a node; an absent field stays.
    pub struct UpdateNode {
        /// The node.
        pub node: NodeId,
        /// The version of its row that the change is based on.
        pub expected_version: u64,
        /// Where other nodes reach it.
        pub address: Option<String>,
        /// Its share of placements.
        pub slots: Option<u32>,
        /// Whether it takes no new placements.
        pub draining: Option<bool>,
        /// Takes it out of service, until it registers again; only a node whose sessions have ended.
        pub retire: bool,
    }

    /// Makes it impossible for a session to have anything more accepted.
    pub struct FenceSession {
        /// The session to fence.
        pub session: SessionId,
        /// Who proposes it.
        pub by: SessionId,
    }

    /// A session ends by itself with everything committed (P9).
    pub struct CloseSession {
        /// The session.
        pub session: SessionId,
        /// Its WAL start as it knows it (P7).
        pub wal_start: u64,
    }

    /// A fenced session's WAL is committed as a whole: its streams are released.
    pub struct CompleteRecovery {
        /// The fenced session.
        pub session: SessionId,
        /// Who recovered it.
        pub by: SessionId,
        /// The WAL start of the fenced session as the recoverer knows it (P7).
        pub wal_start: u64,
        /// The recovery time, from which sliding deadlines run anew.
        pub at: Timestamp,
    }

    /// An operator raises the feature level once every node knows it.
    pub struct RaiseFeatureLevel {
        /// The level now.
        pub expected: u16,
        /// The level to be.
        pub level: u16,
    }
}
