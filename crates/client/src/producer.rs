//! Producers that can be left running: owns the batch that is being filled and what the callers wait on.
//!
//! The rules of sequences are in `window` and know no I/O; `run` sends. Guarantees that each record is stored once, in the
//! order in which it was sent, with its result told in that order, and that a caller waits when too much is under way.
//! Never drops a record silently: what was not acknowledged has an error.

pub(crate) mod builder;
mod claim;
pub(crate) mod run;
mod window;

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::Shared as SharedFuture;
use kelda_format::batch::{Batch, BatchBuilder};
use kelda_format::{Headers, LimitError, Timestamp};
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot, watch};

use crate::append::Appended;
use crate::codec::{Encode, Json};
use crate::error::Error;
use crate::outgoing::Outgoing;
use crate::trace::Tracing;

pub use builder::ProducerBuilder;

/// What a record or a batch weighs besides its bytes.
const RECORD_BYTES: usize = 16;

/// What became of a batch.
pub(crate) type Verdict = Result<Appended, Error>;

/// Where what became of a batch is told.
struct Tell {
    verdict: oneshot::Sender<Verdict>,
    stored: Arc<AtomicU32>,
}

impl Tell {
    /// Tells it. That nobody waits is no error.
    fn send(self, verdict: Verdict) {
        let _ = self.verdict.send(verdict);
    }
}

/// The same, for all records of it.
#[derive(Clone)]
struct Told {
    verdict: SharedFuture<oneshot::Receiver<Verdict>>,
    /// Records at the front that are known to be stored, whatever became of the others.
    stored: Arc<AtomicU32>,
}

impl Told {
    fn new() -> (Tell, Told) {
        let (tell, verdict) = oneshot::channel();
        let stored = Arc::new(AtomicU32::new(0));
        (Tell { verdict: tell, stored: Arc::clone(&stored) }, Told { verdict: verdict.shared(), stored })
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Verdict> {
        let ended = |_| Error::Ended("the producer".to_owned());
        self.verdict.poll_unpin(context).map(|told| told.map_err(ended).flatten())
    }
}

/// What a record got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Its offset; absent for a duplicate whose result the server no longer remembers, and over AMQP, whose confirms do not
    /// tell it.
    pub offset: Option<u64>,
    /// The server's time; absent for a duplicate and over AMQP.
    pub timestamp: Option<Timestamp>,
    /// Whether an earlier try had stored it already.
    pub duplicate: bool,
}

/// A record that is under way; await it for its receipt. Dropping it does not take the record back.
#[must_use = "await it to know that the record is stored, or flush the producer"]
pub struct Sent {
    told: Told,
    index: u64,
}

impl Future for Sent {
    type Output = Result<Receipt, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let index = self.index;
        let stored = Arc::clone(&self.told.stored);
        self.told.poll(context).map(|verdict| match verdict {
            Ok(appended) => Ok(Receipt {
                offset: appended.first_offset.map(|first| first + index),
                timestamp: appended.timestamp,
                duplicate: appended.duplicate,
            }),
            // Confirmed before what befell the rest of its batch.
            Err(_) if index < u64::from(stored.load(Ordering::Relaxed)) => {
                Ok(Receipt { offset: None, timestamp: None, duplicate: false })
            }
            Err(error) => Err(error),
        })
    }
}

/// A batch that is under way; await it for what it got. Dropping it does not take the batch back.
#[must_use = "await it to know that the batch is stored, or flush the producer"]
pub struct SentBatch {
    told: Told,
}

impl Future for SentBatch {
    type Output = Result<Appended, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.told.poll(context)
    }
}

/// A batch that takes no more records.
struct Closed {
    batch: Batch,
    bytes: usize,
    /// The tail that it has to be appended at, if that was asked for.
    expected: Option<u64>,
    tell: Tell,
}

/// The batch that is being filled.
struct Open {
    batch: BatchBuilder,
    bytes: usize,
    tell: Tell,
    told: Told,
}

/// How much is put together and how much may be under way.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    batch_bytes: usize,
    batch_records: u32,
    buffer_bytes: usize,
}

/// What callers and the background share.
struct Buffer {
    stream: String,
    bounds: Bounds,
    state: Mutex<State>,
    /// There is something to send, or to end.
    work: Notify,
    /// There may be room.
    room: Notify,
    /// Whether the background has ended.
    ended: watch::Sender<bool>,
}

#[derive(Default)]
struct State {
    open: Option<Open>,
    closed: VecDeque<Closed>,
    /// Bytes of all that is not acknowledged.
    bytes: usize,
    /// The batch that the last record is in.
    last: Option<Told>,
    /// The batch being filled is to go now.
    flush: bool,
    /// No record is taken any more.
    closing: bool,
    /// Why nothing is sent any more.
    failed: Option<Error>,
}

impl State {
    /// The batch that is being filled takes no more.
    fn close_open(&mut self) {
        self.flush = false;
        if let Some(Open { batch, bytes, tell, .. }) = self.open.take() {
            self.closed.push_back(Closed { batch: batch.finish(), bytes, expected: None, tell });
        }
    }

    /// Adds a record to the batch that is being filled, or begins one. None is left that is empty.
    fn fill(&mut self, record: &Encoded) -> Result<(), LimitError> {
        let open = self.open.get_or_insert_with(|| {
            let (tell, told) = Told::new();
            Open { batch: BatchBuilder::new(), bytes: 0, tell, told }
        });
        let filled = open.batch.push(&record.body, &record.headers, record.timestamp);
        self.open.take_if(|open| open.batch.count() == 0);
        filled
    }

    /// Why no record is taken.
    fn refusal(&self) -> Option<Error> {
        let closed = || self.closing.then(|| Error::Ended("the producer".to_owned()));
        self.failed.clone().or_else(closed)
    }
}

/// An encoded record.
struct Encoded {
    body: Bytes,
    headers: Headers,
    timestamp: Option<Timestamp>,
}

impl Encoded {
    /// What it weighs in the buffer: never nothing, so that empty records are bounded too.
    fn bytes(&self) -> usize {
        self.body.len() + self.headers.encoded().len() + RECORD_BYTES
    }
}

impl Buffer {
    /// Puts a record into a batch, when there is room.
    async fn put(&self, record: Encoded) -> Result<Sent, Error> {
        self.when_room(record.bytes(), |state| self.push(state, &record)).await?
    }

    /// Puts a batch behind all there is, when there is room.
    async fn put_batch(&self, batch: Batch) -> Result<SentBatch, Error> {
        let bytes = usize::try_from(batch.byte_len()).unwrap_or(usize::MAX).saturating_add(RECORD_BYTES);
        let told = self.when_room(bytes, |state| self.push_closed(state, batch, bytes, None)).await?;
        Ok(SentBatch { told })
    }

    /// Waits until so many bytes more may be under way.
    async fn when_room<R>(&self, bytes: usize, push: impl FnOnce(&mut State) -> R) -> Result<R, Error> {
        loop {
            let mut room = std::pin::pin!(self.room.notified());
            room.as_mut().enable();
            {
                let mut state = self.state.lock();
                if let Some(refusal) = state.refusal() {
                    return Err(refusal);
                }
                // One record of any size may always be under way.
                if state.bytes == 0 || state.bytes + bytes <= self.bounds.buffer_bytes {
                    return Ok(push(&mut state));
                }
            }
            room.await;
        }
    }

    fn push(&self, state: &mut State, record: &Encoded) -> Result<Sent, Error> {
        let bytes = record.bytes();
        let full = |open: &Open| open.bytes + bytes > self.bounds.batch_bytes;
        if state.open.as_ref().is_some_and(full) {
            state.close_open();
        }
        if let Err(error) = state.fill(record) {
            if state.open.is_none() {
                return Err(error.into());
            }
            // What does not fit any more fits into the next.
            state.close_open();
            state.fill(record)?;
        }
        let Some(open) = &mut state.open else { return Err(Error::Ended("the batch".to_owned())) };
        open.bytes += bytes;
        let count = open.batch.count();
        let sent = Sent { told: open.told.clone(), index: u64::from(count - 1) };
        let whole = open.bytes >= self.bounds.batch_bytes || count >= self.bounds.batch_records;
        state.bytes += bytes;
        state.last = Some(sent.told.clone());
        if whole {
            state.close_open();
        }
        if whole || count == 1 {
            self.work.notify_one();
        }
        Ok(sent)
    }

    /// Puts a record into a batch of its own that is appended at this tail only.
    async fn put_at(&self, record: Encoded, expected: u64) -> Result<Sent, Error> {
        let batch = Batch::one(record.body.clone(), &record.headers, record.timestamp)?;
        let mut state = self.state.lock();
        if let Some(refusal) = state.refusal() {
            return Err(refusal);
        }
        let told = self.push_closed(&mut state, batch, record.bytes(), Some(expected));
        Ok(Sent { told, index: 0 })
    }

    fn push_closed(&self, state: &mut State, batch: Batch, bytes: usize, expected: Option<u64>) -> Told {
        state.close_open();
        let (tell, told) = Told::new();
        state.bytes += bytes;
        state.closed.push_back(Closed { batch, bytes, expected, tell });
        self.work.notify_one();
        state.last = Some(told.clone());
        told
    }

    /// Sends what is there now, and gives what to wait for: the last batch, since results are told in order.
    fn flush(&self) -> Result<Option<Told>, Error> {
        let mut state = self.state.lock();
        if let Some(error) = &state.failed {
            return Err(error.clone());
        }
        state.flush = state.open.is_some();
        self.work.notify_one();
        Ok(state.last.clone())
    }

    /// Nothing is sent any more, for this reason; everything that waits is told. How many records waited.
    fn fail(&self, error: &Error) -> u64 {
        let mut state = self.state.lock();
        state.failed.get_or_insert_with(|| error.clone());
        state.close_open();
        let closed = std::mem::take(&mut state.closed);
        state.bytes = 0;
        drop(state);
        let mut records = 0;
        for closed in closed {
            records += u64::from(closed.batch.count());
            closed.tell.send(Err(error.clone()));
        }
        self.room.notify_waiters();
        records
    }
}

/// Writes records to one stream: batches them, keeps several batches under way, sends again what was lost, and tells each
/// record's offset. Each record is stored once, in order.
///
/// ```no_run
/// # async fn example(kelda: kelda_client::Kelda) -> Result<(), kelda_client::Error> {
/// let producer = kelda.producer::<serde_json::Value>("orders").open().await?;
/// let first = producer.send(&serde_json::json!({"id": 1})).await?;
/// let second = producer.send(&serde_json::json!({"id": 2})).await?;
/// println!("at {:?} and {:?}", first.await?.offset, second.await?.offset);
/// producer.close().await?;
/// # Ok(()) }
/// ```
pub struct Producer<T: ?Sized, C = Json> {
    buffer: Arc<Buffer>,
    codec: C,
    tracing: Tracing,
    /// Whether the transport has neither conditions nor batches.
    over_amqp: bool,
    content_type: String,
    id: Option<String>,
    epoch: Arc<AtomicU64>,
    payload: std::marker::PhantomData<fn(&T)>,
}

impl<T: ?Sized, C: Encode<T>> Producer<T, C> {
    /// Sends a payload. Waits only while too much is under way; the record's own result is what [`Sent`] gives. Giving up
    /// the wait takes the record back.
    ///
    /// # Errors
    /// [`Error::Codec`] and [`Error::Limit`] for this record; otherwise the producer has ended, and this is why.
    pub async fn send(&self, payload: &T) -> Result<Sent, Error> {
        self.send_message(Outgoing::new(payload)).await
    }

    /// Sends a payload with headers.
    ///
    /// # Errors
    /// As [`Producer::send`].
    pub async fn send_message(&self, message: Outgoing<'_, T>) -> Result<Sent, Error> {
        self.buffer.put(self.encoded(message)?).await
    }

    /// Appends a record only if the stream's tail is `offset` then, and waits for the result. Records sent before it come
    /// first.
    ///
    /// # Errors
    /// The problem `match-offset` when the tail is another; its field `next_offset` is that tail, nothing was written and
    /// the producer goes on. [`Error::Unsupported`] over AMQP. Otherwise as [`Producer::send`].
    pub async fn send_at(&self, offset: u64, message: Outgoing<'_, T>) -> Result<Receipt, Error> {
        self.only_http("append at an offset only")?;
        self.buffer.put_at(self.encoded(message)?, offset).await?.await
    }

    fn encoded(&self, message: Outgoing<'_, T>) -> Result<Encoded, Error> {
        let body = self.codec.encode(message.payload)?;
        let headers = self.tracing.complete(message.headers)?;
        Ok(Encoded { body, headers, timestamp: message.timestamp })
    }
}

impl<T: ?Sized, C> Producer<T, C> {
    fn only_http(&self, what: &'static str) -> Result<(), Error> {
        if self.over_amqp { Err(Error::Unsupported { what, transport: "AMQP" }) } else { Ok(()) }
    }

    /// Sends records that are to be stored together or not at all: a batch of the caller's own, with bodies that are encoded
    /// already. It goes at once, behind what was sent before. Waits only while too much is under way.
    ///
    /// ```no_run
    /// # async fn example(kelda: kelda_client::Kelda) -> Result<(), kelda_client::Error> {
    /// use kelda_client::{BatchBuilder, Binary, Headers};
    /// let producer = kelda.producer::<[u8]>("orders").codec(Binary).open().await?;
    /// let mut both = BatchBuilder::new();
    /// both.push(b"placed", &Headers::none(), None)?;
    /// both.push(b"paid", &Headers::none(), None)?;
    /// let appended = producer.send_batch(both.finish()).await?.await?;
    /// println!("from {:?} up to {}", appended.first_offset, appended.next_offset);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] for a batch without records, [`Error::Unsupported`] over AMQP for one of several; otherwise the
    /// producer has ended, and this is why.
    pub async fn send_batch(&self, batch: Batch) -> Result<SentBatch, Error> {
        if batch.is_empty() {
            let (value, expected) = ("without records".to_owned(), "at least one record");
            return Err(Error::Invalid { what: "batch", value, expected });
        }
        if batch.count() > 1 {
            self.only_http("store several records together or not at all")?;
        }
        self.buffer.put_batch(batch).await
    }

    /// Waits until everything that was sent before is stored.
    ///
    /// # Errors
    /// Why the producer ended; without idempotence what became of the last batch.
    pub async fn flush(&self) -> Result<(), Error> {
        match self.buffer.flush()? {
            Some(told) => SentBatch { told }.await.map(drop),
            None => Ok(()),
        }
    }

    /// Flushes and ends.
    ///
    /// # Errors
    /// As [`Producer::flush`].
    pub async fn close(self) -> Result<(), Error> {
        self.buffer.state.lock().closing = true;
        let flushed = self.flush().await;
        self.buffer.work.notify_one();
        let mut ended = self.buffer.ended.subscribe();
        // The sender is part of the buffer, which is held here.
        let _ = ended.wait_for(|ended| *ended).await;
        flushed
    }

    /// The id under which its records are told from repetitions; `None` without idempotence.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The epoch of this run. Higher than at first when the server had forgotten the producer and it went on by itself.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Relaxed)
    }

    /// The MIME type of the stream's records; empty when the server does not say it.
    #[must_use]
    pub fn content_type(&self) -> &str {
        &self.content_type
    }

    /// The stream's name.
    #[must_use]
    pub fn stream(&self) -> &str {
        &self.buffer.stream
    }
}

impl<T: ?Sized, C> Drop for Producer<T, C> {
    /// What was sent is still written, if the runtime lives long enough; [`Producer::close`] waits for it.
    fn drop(&mut self) {
        let mut state = self.buffer.state.lock();
        (state.closing, state.flush) = (true, true);
        drop(state);
        self.buffer.work.notify_one();
    }
}
