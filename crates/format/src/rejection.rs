//! Why a metadata command took no effect: owns the rejections, which are kept per session (P21) and so are
//! stored. Guarantees that each names the value that was wrong and the one that would be right.

use crate::fault::{Limited, PartFault};
use crate::rows::{FeatureRange, SessionState, StreamKind};
use crate::wire::wire_enum;
use crate::{
    Epoch, NodeId, ObjectId, Offset, SessionEpoch, SessionId, StreamId, StreamName, Timestamp, TransferId,
};

wire_enum! {
    /// Why a command took no effect. Nothing of it did.
    #[derive(thiserror::Error)]
    pub enum Rejection {
        /// The command is newer than the cluster's feature level.
        #[error("the command needs feature level {needed}, the cluster is at {level}")]
        1 => FeatureLevel {
            /// The level it needs.
            needed: u16,
            /// The level of the cluster.
            level: u16,
        },
        /// The node's software does not work at the cluster's feature level.
        #[error("the node knows feature levels {} to {}, the cluster is at {level}", range.min, range.max)]
        2 => FeatureRange {
            /// What the node knows.
            range: FeatureRange,
            /// The level of the cluster.
            level: u16,
        },
        /// The feature level is not what the proposer took it for, or would go back.
        #[error("feature level {asked} expected after {expected}, but the cluster is at {level}")]
        3 => FeatureExpected {
            /// What the proposer took it for.
            expected: u16,
            /// What it asked for.
            asked: u16,
            /// The level of the cluster.
            level: u16,
        },
        /// A node does not know the level yet.
        #[error("node {node} knows feature levels up to {max}, not {asked}; upgrade or retire it first")]
        4 => FeatureUnknown {
            /// The node.
            node: NodeId,
            /// The highest level it knows.
            max: u16,
            /// The level asked for.
            asked: u16,
        },
        /// No node is registered that could know the level.
        #[error("no node in service is registered, so none knows the feature level")]
        5 => NoNodes,

        /// No such node.
        #[error("node {node} never registered")]
        6 => NoSuchNode {
            /// The node.
            node: NodeId,
        },
        /// The row changed since the proposer read it, or does not exist as expected.
        #[error("version {expected:?} expected, {current:?} found")]
        7 => Version {
            /// What the proposer expected; absent for a row that must not exist.
            expected: Option<u64>,
            /// The version; absent when there is no row.
            current: Option<u64>,
        },
        /// The node's earlier session may still be running under another nonce (P2).
        #[error("session {session} of the node is live; name it as taken over once its lease has lapsed")]
        8 => SessionLive {
            /// The earlier session.
            session: SessionId,
        },
        /// The session taken over is not the node's latest.
        #[error("session {named} named as taken over, but the latest of the node is {latest:?}")]
        9 => Takeover {
            /// What was named.
            named: SessionId,
            /// The node's latest session.
            latest: Option<SessionEpoch>,
        },
        /// A node with a local WAL is alone in its cluster (P12).
        #[error("node {node} is in the cluster, and a local WAL belongs to the only node of one")]
        10 => NotAlone {
            /// The other node.
            node: NodeId,
        },
        /// A local WAL is recovered only by the node that has it (P12).
        #[error("session {session} has a local WAL, which session {by} of another node cannot recover")]
        11 => LocalWal {
            /// Whose WAL.
            session: SessionId,
            /// Who tried.
            by: SessionId,
        },

        /// No such session.
        #[error("session {session} does not exist; the latest of its node is {latest:?}")]
        12 => NoSuchSession {
            /// The session.
            session: SessionId,
            /// The latest of its node.
            latest: Option<SessionEpoch>,
        },
        /// The session may propose nothing more (P2).
        #[error("session {session} is {state:?}, only a live one may do this")]
        13 => SessionEnded {
            /// The session.
            session: SessionId,
            /// What it is.
            state: SessionState,
        },
        /// The session is not waiting for recovery.
        #[error("session {session} is {state:?}, only a fenced one is recovered")]
        14 => SessionNotFenced {
            /// The session.
            session: SessionId,
            /// What it is.
            state: SessionState,
        },
        /// The session holds streams, so it is not cleanly closed.
        #[error("session {session} still holds {streams} streams")]
        15 => SessionHolds {
            /// The session.
            session: SessionId,
            /// How many it holds.
            streams: u64,
        },
        /// The WAL start is not what the proposer took it for (P7).
        #[error("WAL start {expected} of session {session} expected, {actual} found")]
        16 => WalStart {
            /// Whose WAL.
            session: SessionId,
            /// What was expected.
            expected: u64,
            /// What it is.
            actual: u64,
        },
        /// A commit has to move the WAL start forward.
        #[error("the WAL start would move from {from} to {to}, it has to move forward")]
        17 => WalStartBack {
            /// Before.
            from: u64,
            /// After.
            to: u64,
        },

        /// No such stream, ever.
        #[error("stream {stream} does not exist; ids are given out up to {next}")]
        18 => NoSuchStream {
            /// The stream.
            stream: StreamId,
            /// The next id.
            next: u64,
        },
        /// The stream was deleted or expired.
        #[error("stream {stream} is deleted")]
        19 => StreamGone {
            /// The stream.
            stream: StreamId,
        },
        /// Another session holds the stream (P1, P5).
        #[error("stream {stream} is held by session {by}")]
        20 => Held {
            /// The stream.
            stream: StreamId,
            /// Who holds it.
            by: SessionId,
        },
        /// The session does not hold the stream.
        #[error("stream {stream} is held by {owner:?}, not by session {session}")]
        21 => NotOwner {
            /// The stream.
            stream: StreamId,
            /// Who was taken for its owner.
            session: SessionId,
            /// Who holds it.
            owner: Option<SessionId>,
        },
        /// The epoch is not what the proposer took it for.
        #[error("stream {stream} is at epoch {epoch:?}, {expected:?} expected")]
        22 => WrongEpoch {
            /// The stream.
            stream: StreamId,
            /// What was expected.
            expected: Option<Epoch>,
            /// What it is.
            epoch: Option<Epoch>,
        },
        /// The committed tail is not what the proposer took it for (P7).
        #[error("stream {stream} ends at {end}, {expected} expected")]
        23 => WrongEnd {
            /// The stream.
            stream: StreamId,
            /// What was expected.
            expected: Offset,
            /// What it is.
            end: Offset,
        },
        /// The offset lies outside what is committed and held (P5, P14).
        #[error("offset {offset} of stream {stream} is outside the committed range {start} to {end}")]
        24 => OutOfRange {
            /// The stream.
            stream: StreamId,
            /// The offset.
            offset: Offset,
            /// The first offset held.
            start: Offset,
            /// The committed tail.
            end: Offset,
        },
        /// The deadline of the stream has not passed.
        #[error("stream {stream} expires at {deadline:?}, it is {at}")]
        25 => NotExpired {
            /// The stream.
            stream: StreamId,
            /// Its deadline; absent when it never expires.
            deadline: Option<Timestamp>,
            /// The time of the command.
            at: Timestamp,
        },
        /// Something of a commit or compaction is wrong for one stream (P10).
        #[error("the part of stream {stream} is wrong: {fault}")]
        26 => BadPart {
            /// The stream.
            stream: StreamId,
            /// What is wrong.
            fault: PartFault,
        },

        /// The name stands for nothing.
        #[error("the name {name} does not exist")]
        27 => NoSuchName {
            /// The name.
            name: StreamName,
        },
        /// The name stands for another stream.
        #[error("the name {name} stands for stream {stream}, {expected} expected")]
        28 => OtherStream {
            /// The name.
            name: StreamName,
            /// What was expected.
            expected: StreamId,
            /// What it stands for.
            stream: StreamId,
        },
        /// The name's stream was deleted while forks of it live.
        #[error("the name {name} was stream {stream}, deleted while forks of it live")]
        29 => SoftDeleted {
            /// The name.
            name: StreamName,
            /// What it stood for.
            stream: StreamId,
        },
        /// An entry goes only from initialising to live.
        #[error("the state of the name {name} changes only from initialising to live")]
        30 => EntryState {
            /// The name.
            name: StreamName,
        },
        /// The stream to fork is not of a kind or state that can be forked so.
        #[error("stream {stream} is an initialising entry or a {kind:?}, so it cannot be forked so")]
        31 => CannotFork {
            /// The stream.
            stream: StreamId,
            /// What it is.
            kind: StreamKind,
        },
        /// A value is outside its limits.
        #[error("{field:?} is {value}, allowed is {min} to {max}")]
        32 => Limit {
            /// What.
            field: Limited,
            /// What it is.
            value: u64,
            /// The least allowed.
            min: u64,
            /// The most allowed.
            max: u64,
        },

        /// The reservation of an object is gone, or was another session's (P13).
        #[error("object {object} is not reserved by session {session}; upload again under a new id")]
        33 => NotReserved {
            /// The object.
            object: ObjectId,
            /// Who needs the reservation.
            session: SessionId,
        },
        /// An object is listed twice.
        #[error("object {object} is listed twice")]
        34 => ObjectTwice {
            /// The object.
            object: ObjectId,
        },
        /// An object is in use, so it cannot be cleaned.
        #[error("object {object} is still referenced or reserved, so it is not to be cleaned")]
        35 => ObjectInUse {
            /// The object.
            object: ObjectId,
        },
        /// No such object, ever.
        #[error("object {object} does not exist; ids are given out up to {next}")]
        36 => NoSuchObject {
            /// The object.
            object: ObjectId,
            /// The next id.
            next: u64,
        },

        /// No such transfer, ever.
        #[error("transfer {transfer} does not exist")]
        37 => NoSuchTransfer {
            /// The transfer.
            transfer: TransferId,
        },
        /// The transfer was aborted, or is of another stream (P4).
        #[error("transfer {transfer} of stream {stream} is not pending")]
        38 => TransferGone {
            /// The transfer.
            transfer: TransferId,
            /// The stream.
            stream: StreamId,
        },
        /// A transfer of the stream is pending.
        #[error("transfer {transfer} of stream {stream} is pending; abort it first")]
        39 => TransferPending {
            /// The stream.
            stream: StreamId,
            /// The pending transfer.
            transfer: TransferId,
        },
        /// The target already holds the stream, or its node takes no placements.
        #[error("session {target} holds stream {stream} or its node is draining, so it is no target")]
        40 => BadTarget {
            /// The stream.
            stream: StreamId,
            /// The target.
            target: SessionId,
        },
        /// No live node takes placements.
        #[error("no live node takes placements")]
        41 => NoPlacement,

        /// The flush is older than one that was applied, or another flush has its number (P21).
        #[error("flush {flush} is not after flush {last}, and not a repeat of it")]
        42 => FlushSuperseded {
            /// The flush.
            flush: u64,
            /// The last flush that was applied.
            last: u64,
        },
        /// Reservations would be given up that are newer than now.
        #[error("the limit {before} lies after the time of the command, {at}")]
        43 => LimitInFuture {
            /// The limit.
            before: Timestamp,
            /// The time of the command.
            at: Timestamp,
        },
        /// The node has a session that has not ended, so it cannot be retired.
        #[error("session {session} of the node has not ended, so the node cannot be retired")]
        44 => CannotRetire {
            /// The session.
            session: SessionId,
        },
    }
}
