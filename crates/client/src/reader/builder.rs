//! Setting up a reader: owns its options and the order in which it opens, guarantees that what is wrong at the start is
//! an error at the start. Never hands an entry over.

use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use kelda_format::{StoredRecord, StreamId};
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use super::Reader;
use super::core::Core;
use super::dead_letters::DeadLetters;
use super::end::{FailureCause, Outcome, ReaderState};
use super::feed::{End, Feed, FeedError, HttpFeed};
use super::messages::Messages;
use super::run::{self, Asking, OnGap};
use super::saver::{self, SaveEvery, Saver};
use super::shared::{Handler, Shared};
#[cfg(feature = "amqp")]
use crate::amqp::{Amqp, AmqpFeed};
use crate::backoff::Backoff;
use crate::checkpoint::{AnyCheckpoint, Checkpoint, Position};
use crate::codec::{Decode, Json};
use crate::connect::Kelda;
use crate::error::Error;
use crate::message::{Message, Origin, UNKNOWN};
use crate::meters::ReaderMeters;
use crate::retry::RetryPolicy;
use crate::start::{EndAt, StartAt};
use crate::stream::StreamHead;
use crate::stream_limits::StreamLimits;
use crate::task;
use crate::timer::{self, Stopwatch};
#[cfg(feature = "amqp")]
use crate::transport::Transport;

/// Entries that may be out to a reader, unless it is set.
const PREFETCH: u64 = 100;

/// A reader that is being set up; see [`Kelda::stream`].
#[must_use = "a reader does nothing until `consume` or `messages`"]
pub struct ReaderBuilder<T, C = Json> {
    kelda: Kelda,
    stream: String,
    codec: C,
    options: Options,
    payload: PhantomData<fn() -> T>,
}

#[derive(Clone)]
pub(crate) struct Options {
    pub(crate) start: StartAt,
    pub(crate) end: End,
    pub(crate) prefetch: u64,
    pub(crate) concurrency: usize,
    pub(crate) skip: Option<(Option<String>, StreamLimits)>,
    pub(crate) on_gap: OnGap,
    pub(crate) resume: Option<(Arc<dyn AnyCheckpoint>, String)>,
    pub(crate) save_every: SaveEvery,
    pub(crate) reconnect: RetryPolicy,
}

impl Kelda {
    /// A reader of a stream whose payloads are `T`; JSON, unless another codec is set.
    ///
    /// ```no_run
    /// # async fn example(kelda: kelda_client::Kelda) -> Result<(), kelda_client::Error> {
    /// #[derive(serde::Deserialize)]
    /// struct OrderPlaced { id: u64 }
    ///
    /// let reader = kelda
    ///     .stream::<OrderPlaced>("orders")
    ///     .from_first()
    ///     .prefetch(100)
    ///     .consume(|message| async move { println!("order {} placed", message.payload().id) })
    ///     .await?;
    /// let end = reader.join().await;
    /// println!("ended: {end}");
    /// # Ok(()) }
    /// ```
    pub fn stream<T>(&self, name: &str) -> ReaderBuilder<T> {
        let options = Options {
            start: StartAt::default(),
            end: End::default(),
            prefetch: PREFETCH,
            concurrency: 1,
            skip: None,
            on_gap: OnGap::default(),
            resume: None,
            save_every: SaveEvery::entry(),
            reconnect: self.shared.reconnect,
        };
        let (kelda, stream) = (self.clone(), name.to_owned());
        ReaderBuilder { kelda, stream, codec: Json, options, payload: PhantomData }
    }
}

impl<T, C> ReaderBuilder<T, C> {
    /// Starts at the first record held.
    pub fn from_first(self) -> Self {
        self.from(StartAt::First)
    }

    /// Starts at the last record, and onward.
    pub fn from_last(self) -> Self {
        self.from(StartAt::Last)
    }

    /// Starts behind the last record: the default. Where that is, is settled when the reader subscribes, so that nothing
    /// written later is missed, whatever happens to the connection.
    pub fn from_next(self) -> Self {
        self.from(StartAt::Next)
    }

    /// Starts at an offset. One that is no longer held is a gap, one past the tail is an error.
    pub fn from_offset(self, offset: u64) -> Self {
        self.from(StartAt::Offset(offset))
    }

    /// Starts at the first record of this time or later.
    pub fn from_time(self, time: SystemTime) -> Self {
        self.from(StartAt::time(time))
    }

    /// Starts so far back from now.
    pub fn from_last_for(self, back: Duration) -> Self {
        self.from(StartAt::Back(back))
    }

    /// Starts so many records before the tail.
    pub fn from_tail(self, records: u64) -> Self {
        self.from(StartAt::Tail(records))
    }

    /// Ends there by itself, with [`ReaderEnd::Reached`](super::ReaderEnd::Reached) (never).
    pub fn until(mut self, end: EndAt) -> Self {
        self.options.end.until = Some(end);
        self
    }

    /// Ends by itself as soon as everything there is was handled, with [`ReaderEnd::Reached`](super::ReaderEnd::Reached): for a
    /// program that runs now and then.
    pub fn until_tail(mut self) -> Self {
        self.options.end.at_tail = true;
        self
    }

    /// Starts there.
    pub fn from(mut self, start: StartAt) -> Self {
        self.options.start = start;
        self
    }

    /// How many entries may be out that are not finished (100): the server sends no more, so that memory stays flat
    /// however slow the handler is. At least 1, and better twice the concurrency or more.
    pub fn prefetch(mut self, entries: u64) -> Self {
        self.options.prefetch = entries;
        self
    }

    /// How many handlers run at once (1). Above 1 the order of handling is not kept; the position still moves only over
    /// entries before which everything is finished.
    pub fn concurrency(mut self, handlers: usize) -> Self {
        self.options.concurrency = handlers;
        self
    }

    /// How payloads are decoded.
    pub fn codec<D: Decode<T>>(self, codec: D) -> ReaderBuilder<T, D> {
        let ReaderBuilder { kelda, stream, options, payload, .. } = self;
        ReaderBuilder { kelda, stream, codec, options, payload }
    }

    /// Goes on past entries that cannot be handled, with a copy of each in `{stream}.dlq`, which is declared when the
    /// reader starts. Without this the reader stops at the first.
    pub fn skip_failures(mut self) -> Self {
        self.options.skip.get_or_insert_default();
        self
    }

    /// As [`ReaderBuilder::skip_failures`], with the copies in a stream of this name and with these limits.
    pub fn dead_letter(mut self, name: impl Into<String>, limits: StreamLimits) -> Self {
        self.options.skip = Some((Some(name.into()), limits));
        self
    }

    /// What to do when records are gone that were to be read (fail).
    pub fn on_gap(mut self, on_gap: OnGap) -> Self {
        self.options.on_gap = on_gap;
        self
    }

    /// Starts behind the position that is stored under `name`, if there is one, and stores the position as entries are
    /// finished. A position of another life of the stream is an error.
    pub fn resume_with(mut self, checkpoint: impl Checkpoint, name: impl Into<String>) -> Self {
        self.options.resume = Some((Arc::new(checkpoint), name.into()));
        self
    }

    /// How often the position is stored (after each entry).
    pub fn save_every(mut self, every: SaveEvery) -> Self {
        self.options.save_every = every;
        self
    }

    /// How it comes back after a lost connection (as the connection is set up: without end).
    pub fn reconnect(mut self, policy: RetryPolicy) -> Self {
        self.options.reconnect = policy;
        self
    }
}

impl<T: Send + 'static, C: Decode<T>> ReaderBuilder<T, C> {
    /// Starts the reader and hands each entry to `handler`, in order, one at a time unless a concurrency is set. It runs
    /// until it is stopped, fails, or all of a sealed stream is finished.
    ///
    /// The handler gives nothing or a result. An error, a panic and a payload that does not decode stop the reader at
    /// that entry, unless failures are skipped: nothing is retried, nothing is moved.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an option, `not-found` when there is no such stream, [`Error::Mismatch`] for the stream of
    /// dead letters, [`Error::StreamChanged`] when the stored position is of another stream, [`Error::Gap`] when it is
    /// gone, and whatever the server refuses.
    pub async fn consume<H, F>(self, handler: H) -> Result<Reader, Error>
    where
        H: Fn(Message<T>) -> F + Send + Sync + 'static,
        F: Future<Output: Outcome> + Send + 'static,
    {
        let (codec, workers) = (self.codec, self.options.concurrency);
        let tracing = self.kelda.shared.tracing.clone();
        let handler: Handler = Arc::new(move |record: StoredRecord, origin: Arc<Origin>| {
            let decoded = codec.decode(&record.record.body);
            match decoded {
                Ok(payload) => {
                    let message = Message::new(payload, record, origin);
                    let handled = tracing.hop(&message).run(|| handler(message));
                    Box::pin(async move { handled.await.result() })
                }
                Err(error) => Box::pin(std::future::ready(Err(FailureCause::Payload(error)))),
            }
        });
        let (shared, asking) = open(&self.kelda, self.stream, self.options).await?;
        let workers = run::start_workers(&shared, &handler, workers);
        Ok(Reader::start(shared, asking, workers))
    }

    /// Starts the reader for a loop of one's own: each entry is asked for, and `done()` says that it is finished. As many
    /// may be held at once as the prefetch says.
    ///
    /// # Errors
    /// As [`ReaderBuilder::consume`].
    pub async fn messages(mut self) -> Result<Messages<T>, Error> {
        self.options.concurrency = usize::try_from(self.options.prefetch).unwrap_or(usize::MAX);
        let (shared, asking) = open(&self.kelda, self.stream, self.options).await?;
        let codec = self.codec;
        let decode = Box::new(move |body: &bytes::Bytes| codec.decode(body));
        Ok(Messages::new(Reader::start(shared, asking, Vec::new()), decode))
    }
}

/// Checks the options, looks at the stream, and asks for the first page.
async fn open(kelda: &Kelda, stream: String, options: Options) -> Result<(Arc<Shared>, Asking), Error> {
    check(&options)?;
    #[cfg(feature = "amqp")]
    if let Transport::Amqp(amqp) = &kelda.transport {
        return open_queue(kelda, amqp, stream, options).await;
    }
    let http = kelda.transport.http("read a stream")?;
    let head = kelda.head(&stream).await?;
    let stream_id = stream_id(&head)?;
    let stored = stored(&options, &stream, stream_id).await?;
    let dead = match &options.skip {
        None => None,
        Some((name, limits)) => {
            let name = name.clone().unwrap_or_else(|| format!("{stream}.dlq"));
            let (limits, reconnect) = (limits.clone(), options.reconnect);
            Some(DeadLetters::open(kelda, &name, limits, &head.content_type, reconnect).await?)
        }
    };
    let origin = Arc::new(Origin { stream: stream.clone(), stream_id, content_type: head.content_type });
    let feed = Arc::new(HttpFeed::new(http, &stream, options.end));
    begin(kelda, origin, options, stored, dead, feed).await
}

/// The same over AMQP, where a queue says less of itself.
#[cfg(feature = "amqp")]
async fn open_queue(
    kelda: &Kelda,
    amqp: &Amqp,
    stream: String,
    options: Options,
) -> Result<(Arc<Shared>, Asking), Error> {
    if options.end.until.is_some() || options.end.at_tail {
        return Err(Error::Unsupported { what: "end a reader by itself", transport: "AMQP" });
    }
    let feed = Arc::new(AmqpFeed::new(amqp, &stream, options.prefetch)?);
    let stream_id = amqp.identify(&stream).await?;
    let stored = stored(&options, &stream, stream_id).await?;
    let dead = match &options.skip {
        None => None,
        Some((name, limits)) => {
            let name = name.clone().unwrap_or_else(|| format!("{stream}.dlq"));
            let (limits, reconnect) = (limits.clone(), options.reconnect);
            Some(DeadLetters::open_queue(kelda, amqp, &name, limits, reconnect).await?)
        }
    };
    let origin = Arc::new(Origin { stream, stream_id, content_type: String::new() });
    begin(kelda, origin, options, stored, dead, feed).await
}

/// Puts the parts together and asks for the first page.
async fn begin(
    kelda: &Kelda,
    origin: Arc<Origin>,
    options: Options,
    stored: Option<Position>,
    dead: Option<DeadLetters>,
    feed: Arc<dyn Feed>,
) -> Result<(Arc<Shared>, Asking), Error> {
    let diagnostics = kelda.shared.diagnostics.clone();
    let meters = ReaderMeters::new(&kelda.labels(&origin.stream));
    let (shared, asking) = assemble(origin, options, stored, dead, feed, diagnostics, meters);
    asking.first(kelda.transport.calls()).await?;
    Ok((shared, asking))
}

/// Puts the parts together.
pub(crate) fn assemble(
    origin: Arc<Origin>,
    options: Options,
    stored: Option<Position>,
    dead: Option<DeadLetters>,
    feed: Arc<dyn Feed>,
    diagnostics: crate::diagnostic::Sender,
    meters: ReaderMeters,
) -> (Arc<Shared>, Asking) {
    let start = stored.map_or(options.start, |position| StartAt::Offset(position.offset.saturating_add(1)));
    let saver =
        options.resume.map(|(checkpoint, name)| Saver::new(checkpoint, name, options.save_every, stored));
    let shared = Arc::new(Shared {
        stream: origin.stream.clone(),
        core: Mutex::new(Core::new(start, options.prefetch, options.concurrency)),
        origin: OnceLock::from(origin),
        entries: Notify::new(),
        room: Notify::new(),
        closing: watch::Sender::new(false),
        state: watch::Sender::new(ReaderState::Running),
        ending: Mutex::new(None),
        dead,
        saver,
        diagnostics,
        meters,
    });
    let asking =
        Asking { shared: Arc::clone(&shared), feed, on_gap: options.on_gap, reconnect: options.reconnect };
    (shared, asking)
}

fn check(options: &Options) -> Result<(), Error> {
    let invalid = |what, value: String, expected| Err(Error::Invalid { what, value, expected });
    if options.prefetch == 0 {
        return invalid("prefetch", "0".to_owned(), "at least 1");
    }
    match options.concurrency {
        0 => invalid("concurrency", "0".to_owned(), "at least 1"),
        many if many as u64 > options.prefetch => {
            invalid("concurrency", many.to_string(), "at most the prefetch")
        }
        _ => Ok(()),
    }
}

fn stream_id(head: &StreamHead) -> Result<StreamId, Error> {
    let id = head.stream_id.parse();
    id.map(StreamId).map_err(|_| Error::Protocol(format!("{:?} is not the id of a stream", head.stream_id)))
}

/// The position that is stored, which has to be of this stream.
async fn stored(options: &Options, stream: &str, found: StreamId) -> Result<Option<Position>, Error> {
    let Some((checkpoint, name)) = &options.resume else { return Ok(None) };
    let loaded = checkpoint.load(name).await;
    let loaded = loaded.map_err(|cause| saver::failure(name, "cannot be loaded", cause))?;
    match loaded {
        // Over AMQP the id may not be known, now or when the position was stored.
        Some(position) if position.stream_id != found && ![position.stream_id, found].contains(&UNKNOWN) => {
            let (stream, found) = (stream.to_owned(), found.to_string());
            Err(Error::StreamChanged { stream, expected: position.stream_id, found })
        }
        other => Ok(other),
    }
}

impl Asking {
    /// Asks for the first page, again after failures that pass: what is wrong at the start is said at the start.
    pub(crate) async fn first(&self, retry: RetryPolicy) -> Result<(), Error> {
        let shared = &self.shared;
        let mut backoff = Backoff::of(retry);
        loop {
            let Some(ask) = shared.core.lock().ask() else { return Ok(()) };
            let began = Stopwatch::start();
            let error = match self.feed.fetch(ask, shared.stream_id()).await {
                Ok(page) => return shared.take_page(page),
                Err(FeedError::Gone { start }) => {
                    self.first_gap(start)?;
                    continue;
                }
                Err(FeedError::Changed { found }) => {
                    let expected = shared.stream_id().unwrap_or_default();
                    return Err(Error::StreamChanged { stream: shared.stream.clone(), expected, found });
                }
                Err(FeedError::Failed(error)) => error,
            };
            shared.core.lock().lost();
            backoff.spend(began.elapsed());
            let pause = backoff.pause().filter(|_| error.is_retryable());
            let Some(pause) = pause else { return Err(error) };
            timer::sleep(pause).await;
        }
    }

    fn first_gap(&self, to: u64) -> Result<(), Error> {
        use crate::diagnostic::Diagnostic;
        let (shared, stream) = (&self.shared, self.shared.stream.clone());
        let from = shared.core.lock().asked_at().unwrap_or_default();
        if self.on_gap == OnGap::Fail || from >= to {
            return Err(Error::Gap { stream, from, to });
        }
        shared.core.lock().gap(from, to);
        shared.diagnostics.send(Diagnostic::ReaderGap { stream, from, to });
        Ok(())
    }
}

/// Starts what runs in the background.
pub(crate) fn start(asking: Asking, workers: Vec<tokio::task::JoinHandle<()>>) {
    drop(task::spawn(run::supervise(asking, workers)));
}
