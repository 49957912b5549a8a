//! What can go wrong, per operation: owns the error types of the engine, guarantees that each carries the value
//! that was wrong and, where there is one, what would be right; never wraps a lower layer's error type.

use kelda_format::{NodeId, Offset, SessionId};
use thiserror::Error;

/// Why the engine did not start.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum StartError {
    /// A file of the write-ahead log is damaged; nothing was changed.
    #[error(
        "{file} is corrupt at byte {position}: {detail}; copy the data directory, then run kelda check on the copy"
    )]
    Corrupt {
        /// Path below the data directory.
        file: String,
        /// Byte position.
        position: u64,
        /// What is wrong there.
        detail: String,
    },
    /// A file was written by a newer version.
    #[error("{file}: {detail}")]
    Newer {
        /// Path below the data directory.
        file: String,
        /// What was found.
        detail: String,
    },
    /// The data directory is of another node of the cluster.
    #[error("it was last used by node {used_by}, this is node {node}; start it with --node-id {used_by}")]
    OtherNode {
        /// Whose it is.
        used_by: NodeId,
        /// Who asks.
        node: NodeId,
    },
    /// A write-ahead log on a disk is for exactly one node (P12).
    #[error(
        "node {other} is registered too, and a write-ahead log on a disk is for exactly one node; run every node with --wal \
         store, or take node {other} out of the cluster"
    )]
    NotAlone {
        /// The other node.
        other: NodeId,
    },
    /// A file belongs to another cluster.
    #[error("{file} cannot be used: {detail}")]
    Foreign {
        /// Path below the data directory.
        file: String,
        /// What it is and what was expected.
        detail: String,
    },
    /// No space is left to recover or to start a write-ahead log.
    #[error("no space left on the data directory's device while {during}; free some and start again")]
    DiskFull {
        /// What needed the space.
        during: String,
    },
    /// The metadata plane refused or did not answer.
    #[error("metadata: {0}")]
    Meta(String),
    /// The disk or the object store failed.
    #[error("{0}")]
    Storage(String),
}

/// Why a stream could not be opened.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum OpenError {
    /// The stream was deleted, or never was.
    #[error("the stream is gone")]
    Gone,
    /// Another live session holds it.
    #[error("the stream is held by session {0}")]
    Elsewhere(SessionId),
    /// The engine has no live session now; try again.
    #[error("unavailable: {0}")]
    Unavailable(String),
}

/// Why an append was refused, or what is known about it.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum AppendError {
    /// The stream is sealed.
    #[error("the stream is sealed at offset {tail}")]
    Sealed {
        /// Its final tail.
        tail: Offset,
    },
    /// The content type is not the stream's.
    #[error("the content type differs from the stream's")]
    ContentType,
    /// The tail is not where the caller said.
    #[error("the tail is {tail}")]
    MatchOffset {
        /// Where the tail is.
        tail: Offset,
    },
    /// The writer's `Stream-Seq` is not above the last one.
    #[error("the sequence is not above the last one")]
    StreamSeq {
        /// The last one accepted.
        last: bytes::Bytes,
    },
    /// The producer's epoch is over.
    #[error("the producer's epoch is {current}")]
    StaleEpoch {
        /// The epoch in force.
        current: u64,
    },
    /// The producer's sequence skips some.
    #[error("expected sequence {expected}, received {received}")]
    Gap {
        /// What would be accepted.
        expected: u64,
        /// What came.
        received: u64,
    },
    /// A new producer, or a new epoch of one, must start with sequence 0.
    #[error("a producer's epoch starts with sequence 0")]
    BadProducerStart,
    /// No room in the write-ahead log within the wait; nothing was written. Retry later.
    #[error("overloaded: {0}")]
    Overloaded(&'static str),
    /// No space on the device; nothing was written.
    #[error("no space left on the device")]
    DiskFull,
    /// The batch is larger than one entry may be.
    #[error("{bytes} bytes are more than the {max} an append may have")]
    TooLarge {
        /// Bytes of the entry.
        bytes: u64,
        /// The bound.
        max: u64,
    },
    /// The session ended before the entry was known to be durable: it may or may not be there after recovery.
    #[error("the outcome is unknown")]
    OutcomeUnknown,
    /// The stream is no longer open here; open it and try again. Nothing was written.
    #[error("the stream is closed here")]
    Closed,
    /// The stream was deleted. Nothing was written.
    #[error("the stream is gone")]
    Gone,
}

/// Why a read gave nothing.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ReadError {
    /// The position was trimmed away.
    #[error("the first record held is {start}")]
    Trimmed {
        /// The first offset held.
        start: Offset,
    },
    /// The position is past the tail.
    #[error("the tail is {tail}")]
    PastTail {
        /// The offset the next record will get.
        tail: Offset,
    },
    /// The stream was deleted, or never was.
    #[error("the stream is gone")]
    Gone,
    /// An object is missing or does not decode, at the head of the metadata log.
    #[error("object {object} is damaged: {detail}")]
    Damaged {
        /// Key of the object.
        object: String,
        /// What is wrong.
        detail: String,
    },
    /// The store or the session does not answer now; try again.
    #[error("unavailable: {0}")]
    Unavailable(String),
}

/// Why trim, delete, close or expire was not done.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum EndError {
    /// The stream was deleted, or never was.
    #[error("the stream is gone")]
    Gone,
    /// Another live session holds it.
    #[error("the stream is held by session {0}")]
    Elsewhere(SessionId),
    /// The position lies past the tail.
    #[error("the tail is {tail}")]
    PastTail {
        /// The tail.
        tail: Offset,
    },
    /// The metadata machine said no.
    #[error("refused: {0}")]
    Refused(String),
    /// Certainly not done; try again.
    #[error("unavailable: {0}")]
    Unavailable(String),
    /// The session ended while it was under way; look before trying again.
    #[error("the outcome is unknown")]
    OutcomeUnknown,
}

/// Why a shutdown was not clean. What was acknowledged is in the write-ahead log and will be recovered.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("not closed cleanly: {0}")]
pub struct ShutdownError(pub String);
