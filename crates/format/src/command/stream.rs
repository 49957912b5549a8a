//! Commands about streams, their names and who holds them.

use crate::rows::{EntryState, Expiry, ForkPoint, Retention, StreamKind};
use crate::wire::wire_struct;
use crate::{Epoch, Offset, SessionId, StreamId, StreamName, Timestamp, TransferId};

wire_struct! {
    /// Creates a name and its internal stream in one step.
    pub struct CreateStream {
        /// The name.
        pub name: StreamName,
        /// What it is to its users.
        pub kind: StreamKind,
        /// The content type; at most 256 bytes.
        pub content_type: String,
        /// When the stream is removed as a whole.
        pub expiry: Expiry,
        /// What bounds it.
        pub retention: Retention,
        /// The arguments of the declaration, as given.
        pub arguments: Vec<(String, String)>,
        /// Where it forks from another stream (P14).
        pub parent: Option<ForkPoint>,
        /// Whether content or a seal has to become durable before the entry is live.
        pub initialising: bool,
        /// Now.
        pub at: Timestamp,
        /// The session that opens it in the same step.
        pub open: Option<SessionId>,
    }

    /// A session takes a stream that nobody holds (P1).
    pub struct OpenStream {
        /// The stream.
        pub stream: StreamId,
        /// The session.
        pub session: SessionId,
    }

    /// Opens a stream that nobody holds at the live node with the lowest load.
    pub struct PlaceStream {
        /// The stream.
        pub stream: StreamId,
        /// Its epoch as the proposer knows it.
        pub expected_epoch: Option<Epoch>,
    }

    /// The owner releases a stream with everything committed.
    pub struct CloseStream {
        /// The stream.
        pub stream: StreamId,
        /// The owner.
        pub session: SessionId,
        /// The epoch it holds.
        pub epoch: Epoch,
        /// The committed tail as it knows it.
        pub end: Offset,
        /// The sliding deadline as the owner knows it (P5).
        pub deadline: Option<Timestamp>,
    }

    /// Moves the start of a stream up to an offset at or below the committed tail.
    pub struct TrimStream {
        /// The stream.
        pub stream: StreamId,
        /// The owner, when it is the owner that trims.
        pub session: Option<SessionId>,
        /// The epoch it holds, or the epoch that the proposer expects.
        pub epoch: Option<Epoch>,
        /// The first offset that stays.
        pub before: Offset,
        /// Now.
        pub at: Timestamp,
    }

    /// Removes a name and its stream (P5).
    pub struct DeleteStream {
        /// The stream.
        pub stream: StreamId,
        /// The name it lives under.
        pub name: StreamName,
        /// The owner, which has to be the proposer when the stream is held.
        pub session: Option<SessionId>,
        /// The epoch it holds, or the epoch that the proposer expects.
        pub epoch: Option<Epoch>,
        /// Now.
        pub at: Timestamp,
    }

    /// Removes a stream whose deadline has passed (P5).
    pub struct ExpireStream {
        /// The stream.
        pub stream: StreamId,
        /// The owner, which has to be the proposer when the stream is held.
        pub session: Option<SessionId>,
        /// The epoch it holds, or the epoch that the proposer expects.
        pub epoch: Option<Epoch>,
        /// Now.
        pub at: Timestamp,
    }

    /// Changes a registry entry; an absent field stays.
    pub struct PutEntry {
        /// The name.
        pub name: StreamName,
        /// The stream it has to stand for.
        pub stream: StreamId,
        /// The version that the change is based on.
        pub expected_version: u64,
        /// The new state; only from initialising to live.
        pub state: Option<EntryState>,
        /// The new expiry; the deadline is counted from `at`.
        pub expiry: Option<Expiry>,
        /// The retention to be in force.
        pub retention: Option<Retention>,
        /// The arguments of the declaration.
        pub arguments: Option<Vec<(String, String)>>,
        /// Now.
        pub at: Timestamp,
    }

    /// Removes the entry of a name, and its stream, which nobody may hold, at an expected version.
    pub struct DeleteEntry {
        /// The name.
        pub name: StreamName,
        /// The stream it has to stand for.
        pub stream: StreamId,
        /// The version that the removal is based on.
        pub expected_version: u64,
        /// Now.
        pub at: Timestamp,
    }

    /// Asks the owner of a stream to hand it over (P4).
    pub struct StartTransfer {
        /// The stream.
        pub stream: StreamId,
        /// The epoch that the owner holds.
        pub expected_epoch: Epoch,
        /// The session that is to open it.
        pub target: SessionId,
        /// Now.
        pub at: Timestamp,
    }

    /// The source has drained and releases the stream (P4).
    pub struct CompleteTransfer {
        /// The transfer.
        pub transfer: TransferId,
        /// The stream.
        pub stream: StreamId,
        /// The source.
        pub session: SessionId,
        /// The epoch it holds.
        pub epoch: Epoch,
        /// The committed tail as it knows it.
        pub end: Offset,
        /// The sliding deadline as it knows it.
        pub deadline: Option<Timestamp>,
    }

    /// Ends a transfer without effect (P4).
    pub struct AbortTransfer {
        /// The transfer.
        pub transfer: TransferId,
        /// The stream.
        pub stream: StreamId,
    }
}
