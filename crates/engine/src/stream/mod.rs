//! A stream that this session holds open: owns what is known of it beyond the committed state (accepted tail,
//! durable tail, producers, waiters), guarantees that the durable tail moves by whole entries in order (P17) and
//! that whoever waits for an entry is answered in order of acceptance. Never does I/O under its lock.
//!
//! An idle stream is this value and nothing else: no task, no timer, no file.

pub(crate) mod admit;
pub(crate) mod append;
pub(crate) mod durable;
pub(crate) mod gaps;
pub(crate) mod producers;
pub(crate) mod registry;

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use kelda_format::rows::StreamRow;
use kelda_format::{Epoch, Offset, StreamId, Timestamp};
use parking_lot::Mutex;
use tokio::sync::{Semaphore, oneshot};

use crate::cache::LogCache;
use crate::error::AppendError;
use crate::session::Session;
use gaps::GapWaiters;
use producers::Producers;

/// One continuous session of ownership of a stream, named by (stream id, epoch).
pub struct OpenStream {
    pub(crate) id: StreamId,
    pub(crate) epoch: Epoch,
    pub(crate) session: Arc<Session>,
    pub(crate) state: Mutex<StreamState>,
    /// Bytes that may be in flight for this stream.
    pub(crate) inflight: Arc<Semaphore>,
}

/// How far the stream is with its life here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Takes appends.
    Open,
    /// Takes no appends while something that ends it is proposed (P5).
    Stopped,
    /// Closed here; it may be opened again, here or elsewhere.
    Closed,
    /// Deleted or expired.
    Gone,
    /// The session ended (P2).
    Ended,
}

/// Everything that changes, under one lock that is never held across an await.
pub(crate) struct StreamState {
    pub(crate) phase: Phase,
    /// The offset that the next accepted record gets.
    pub(crate) next: Offset,
    /// Whether a seal was accepted.
    pub(crate) sealed: bool,
    /// Time of the last accepted record (P18).
    pub(crate) last_timestamp: Timestamp,
    /// The last accepted `Stream-Seq`.
    pub(crate) stream_seq: Option<Bytes>,
    /// The offset after the last durable record; readers never see past it.
    pub(crate) durable: Offset,
    /// Time of the last durable record.
    pub(crate) durable_timestamp: Timestamp,
    /// Whether the seal is durable.
    pub(crate) durable_sealed: bool,
    /// The offset up to which everything is committed in objects.
    pub(crate) committed: Offset,
    /// Entries accepted since the stream was opened, and how many of them are durable.
    pub(crate) accepted_entries: u64,
    pub(crate) durable_entries: u64,
    /// Entries that are committed, so that the stream may be closed when all are.
    pub(crate) committed_entries: u64,
    /// Who waits for an entry to be durable, in order of acceptance. Bounded by the bytes in flight.
    pub(crate) waiting: VecDeque<Waiter>,
    pub(crate) producers: Producers,
    pub(crate) gaps: GapWaiters,
    pub(crate) cache: LogCache,
}

/// One append that waits for the durability of an entry.
pub(crate) struct Waiter {
    /// The entry.
    pub(crate) ordinal: u64,
    /// Where the answer goes.
    pub(crate) answer: oneshot::Sender<Result<(), AppendError>>,
}

impl OpenStream {
    /// The stream as its committed row says, just opened at the row's epoch.
    pub(crate) fn new(session: Arc<Session>, row: &StreamRow, epoch: Epoch) -> OpenStream {
        let inflight = Arc::new(Semaphore::new(session.stream_inflight()));
        OpenStream {
            id: row.id,
            epoch,
            session,
            state: Mutex::new(StreamState {
                phase: Phase::Open,
                next: row.end,
                sealed: row.sealed,
                last_timestamp: row.last_timestamp,
                stream_seq: row.stream_seq.clone(),
                durable: row.end,
                durable_timestamp: row.last_timestamp,
                durable_sealed: row.sealed,
                committed: row.end,
                accepted_entries: 0,
                durable_entries: 0,
                committed_entries: 0,
                waiting: VecDeque::new(),
                producers: Producers::default(),
                gaps: GapWaiters::default(),
                cache: LogCache::new(row.end),
            }),
            inflight,
        }
    }

    /// The stream's id.
    #[must_use]
    pub fn id(&self) -> StreamId {
        self.id
    }

    /// The epoch under which it is open.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The offset after the last durable record.
    #[must_use]
    pub fn tail(&self) -> Offset {
        self.state.lock().durable
    }

    /// Whether it still takes part in the life of the stream here.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.state.lock().phase == Phase::Open
    }
}
