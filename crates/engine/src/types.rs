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
    /// The durable tail when the read was answered; the committed one when `tail_known` is false.
    pub tail: Offset,
    /// False while another session, or one that ended and is not recovered, may have acknowledged more (P19).
    pub tail_known: bool,
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
    /// The durable tail; the committed one when `tail_known` is false.
    pub tail: Offset,
    /// False while another session, or one that ended and is not recovered, may have acknowledged more (P19).
    pub tail_known: bool,
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
