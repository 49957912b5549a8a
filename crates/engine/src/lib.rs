//! The storage engine of Kelda: the shape of its interface, until the parts behind it land.

#![allow(clippy::unused_async, dead_code)]

use std::sync::Arc;
use std::time::Duration;

use kelda_format::{Offset, SessionId, StreamId, Timestamp};

pub use error::{AppendError, EndError, OpenError, ReadError, ShutdownError, StartError};
pub use health::Health;
pub use types::{AppendRequest, Appended, Chunk, ReadLimit, StreamStatus, Wait};

mod error {
    //! What can go wrong, per operation: owns the error types of the engine, guarantees that each carries the value
    //! that was wrong and, where there is one, what would be right; never wraps a lower layer's error type.

    use kelda_format::{Offset, SessionId};
    use thiserror::Error;

    /// Why the engine did not start.
    #[derive(Clone, Debug, Error, PartialEq, Eq)]
    pub enum StartError {
        /// A file of the write-ahead log is damaged; nothing was changed.
        #[error(
            "{file} is corrupt at byte {position}: {detail}; restore the file from a copy, or remove it and lose what it holds"
        )]
        Corrupt {
            /// Path below the data directory.
            file: String,
            /// Byte position.
            position: u64,
            /// What is wrong there.
            detail: String,
        },
        /// A file was written by a newer version, or belongs to another cluster.
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
}

mod health {
    //! What state the engine is in, for `/ready` and for refusing work: owns the one health cell, guarantees that
    //! its latest value is the one shown, never decides anything itself.

    use parking_lot::Mutex;

    /// What the engine can do now.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub enum Health {
        /// Takes appends and reads.
        Ready,
        /// Replays the write-ahead log of a session that ended.
        Recovering {
            /// Segments that still wait to be replayed.
            segments_left: u64,
            /// Bytes that still wait to be replayed.
            bytes_left: u64,
        },
        /// No space for the write-ahead log: appends are refused, reads go on, space is awaited.
        DiskFull,
        /// The session ended and no new one could be started; only a restart helps.
        Ended {
            /// Why.
            reason: String,
        },
        /// A file is damaged; the engine refuses to guess.
        Damaged {
            /// Which file.
            file: String,
            /// Byte position in it.
            position: u64,
            /// What is wrong there.
            detail: String,
        },
    }

    /// The health of one engine, shared by its parts.
    #[derive(Debug)]
    pub(crate) struct HealthCell(Mutex<Health>);

    impl HealthCell {
        pub(crate) fn new(health: Health) -> HealthCell {
            HealthCell(Mutex::new(health))
        }

        pub(crate) fn get(&self) -> Health {
            self.0.lock().clone()
        }

        pub(crate) fn set(&self, health: Health) {
            *self.0.lock() = health;
        }

        /// Enters or leaves the full state without hiding a graver one.
        pub(crate) fn set_disk_full(&self, full: bool) {
            let mut health = self.0.lock();
            match (&*health, full) {
                (Health::Ready, true) => *health = Health::DiskFull,
                (Health::DiskFull, false) => *health = Health::Ready,
                _ => {}
            }
        }
    }
}

mod types {
    //! What callers hand to the engine and get from it: owns the request and answer types, guarantees nothing but their
    //! meaning, never holds a resource.

    use bytes::Bytes;
    use kelda_format::{Batch, Block, Epoch, Offset, Timestamp};
    use kelda_meta::producers::ProducerClaim;

    /// One atomic append.
    #[derive(Clone, Debug)]
    pub struct AppendRequest {
        /// The records; none only together with `seal`.
        pub batch: Batch,
        /// Whether the stream takes no more records afterwards.
        pub seal: bool,
        /// The idempotent producer that sends this, if it is one.
        pub producer: Option<ProducerClaim>,
        /// Refuse unless the first record would get this offset.
        pub match_offset: Option<Offset>,
        /// The writer's own sequence, which must rise byte by byte.
        pub stream_seq: Option<Bytes>,
        /// Whether the caller found the content type to differ; answered in its place in the order of checks (P16).
        pub content_type_mismatch: bool,
    }

    impl AppendRequest {
        /// An append of `batch` without any condition.
        #[must_use]
        pub fn new(batch: Batch) -> AppendRequest {
            AppendRequest {
                batch,
                seal: false,
                producer: None,
                match_offset: None,
                stream_seq: None,
                content_type_mismatch: false,
            }
        }
    }

    /// What an append got, durable when it is answered.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Appended {
        /// Offset of the first record. For a duplicate whose result is no longer kept: the tail.
        pub first: Offset,
        /// The offset after the last record.
        pub next: Offset,
        /// Time that the owner gave the records; for a duplicate the stream's last one.
        pub timestamp: Timestamp,
        /// Whether this repeats an append that was accepted before, so that nothing was written.
        pub duplicate: bool,
        /// Whether a duplicate's offsets are those of the original (false when that is no longer kept); true otherwise.
        pub exact: bool,
        /// Whether the stream is sealed.
        pub sealed: bool,
        /// The producer's last accepted sequence.
        pub producer_seq: Option<u64>,
    }

    /// How much a read may return.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ReadLimit {
        /// Bytes of bodies; at least one record is returned when there is one.
        pub max_bytes: u64,
        /// Records.
        pub max_records: u64,
        /// Only records before this offset.
        pub until: Option<Offset>,
    }

    /// What a read returned.
    #[derive(Clone, Debug)]
    pub struct Chunk {
        /// Blocks in order, cut to the records asked for.
        pub blocks: Vec<Block>,
        /// Where the next read begins.
        pub next: Offset,
        /// The durable tail when the read was answered.
        pub tail: Offset,
        /// The first offset held.
        pub start: Offset,
        /// Whether the stream is sealed, durably.
        pub sealed: bool,
    }

    /// How a wait for records ended.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Wait {
        /// The durable tail is past the offset.
        Data,
        /// The stream is sealed and has no more records.
        Sealed,
        /// The stream was deleted.
        Gone,
        /// Nothing happened in time.
        TimedOut,
        /// The session ended, or the engine stops.
        Ended,
    }

    /// What is known of a stream without opening it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct StreamStatus {
        /// The first offset held.
        pub start: Offset,
        /// The durable tail.
        pub tail: Offset,
        /// Whether the stream is sealed, durably.
        pub sealed: bool,
        /// Time of the last record, kept when all are trimmed.
        pub last_timestamp: Timestamp,
        /// Time of the first record held, as far as the view knows; none when there is no record.
        pub oldest_timestamp: Option<Timestamp>,
        /// Bytes held.
        pub bytes: u64,
        /// The epoch; none until first opened.
        pub epoch: Option<Epoch>,
        /// Whether it is open here.
        pub open: bool,
    }
}

const SHAPE: &str = "only the shape of the engine is here";

/// The engine of one node.
#[derive(Clone)]
pub struct Engine {
    session: SessionId,
}

/// A stream that is open here.
pub struct OpenStream(());

impl Engine {
    /// The session that runs now.
    #[must_use]
    pub fn session(&self) -> SessionId {
        self.session
    }

    /// What the engine can do now.
    #[must_use]
    pub fn health(&self) -> Health {
        Health::Ended { reason: SHAPE.to_owned() }
    }

    /// Opens a stream.
    ///
    /// # Errors
    /// [`OpenError`].
    pub async fn open(&self, _stream: StreamId) -> Result<Arc<OpenStream>, OpenError> {
        Err(OpenError::Unavailable(SHAPE.to_owned()))
    }

    /// The stream, if it is open here.
    #[must_use]
    pub fn opened(&self, _stream: StreamId) -> Option<Arc<OpenStream>> {
        None
    }

    /// What is known of a stream without opening it.
    #[must_use]
    pub fn status(&self, _stream: StreamId) -> Option<StreamStatus> {
        None
    }

    /// Reads.
    ///
    /// # Errors
    /// [`ReadError`].
    pub async fn read(
        &self,
        _stream: StreamId,
        _from: Offset,
        _limit: ReadLimit,
    ) -> Result<Chunk, ReadError> {
        Err(ReadError::Unavailable(SHAPE.to_owned()))
    }

    /// The first record at or after a time.
    ///
    /// # Errors
    /// [`ReadError`].
    pub async fn find_time(&self, _stream: StreamId, _time: Timestamp) -> Result<Offset, ReadError> {
        Err(ReadError::Unavailable(SHAPE.to_owned()))
    }

    /// Waits until the tail is greater than `after`.
    pub async fn wait(&self, _stream: StreamId, _after: Offset, _timeout: Duration) -> Wait {
        Wait::Ended
    }

    /// Moves the start of a stream; returns it.
    ///
    /// # Errors
    /// [`EndError`].
    pub async fn trim(&self, _stream: StreamId, _before: Offset) -> Result<Offset, EndError> {
        Err(EndError::Unavailable(SHAPE.to_owned()))
    }

    /// Deletes a stream.
    ///
    /// # Errors
    /// [`EndError`].
    pub async fn delete(&self, _stream: StreamId) -> Result<(), EndError> {
        Err(EndError::Unavailable(SHAPE.to_owned()))
    }

    /// Expires a stream.
    ///
    /// # Errors
    /// [`EndError`].
    pub async fn expire(&self, _stream: StreamId) -> Result<(), EndError> {
        Err(EndError::Unavailable(SHAPE.to_owned()))
    }
}

impl OpenStream {
    /// Appends.
    ///
    /// # Errors
    /// [`AppendError`].
    pub async fn append(&self, _request: AppendRequest) -> Result<Appended, AppendError> {
        Err(AppendError::Closed)
    }
}
