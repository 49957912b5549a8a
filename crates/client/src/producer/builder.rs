//! Setting up a producer: owns its options and the order in which it opens, guarantees that what is wrong at the start is
//! an error at the start. Never sends a record.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use kelda_format::limits::{MAX_BATCH_BYTES, MAX_BATCH_RECORDS, MAX_INTEGER, PRODUCER_RESULTS_KEPT};
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use super::run::{Append, HttpAppend, Identity, Sending};
use super::{Bounds, Buffer, Producer, State, claim};
#[cfg(feature = "amqp")]
use crate::amqp::AmqpAppend;
use crate::codec::{Encode, Json};
use crate::connect::Kelda;
use crate::error::Error;
#[cfg(feature = "amqp")]
use crate::message::UNKNOWN;
use crate::meters::ProducerMeters;
use crate::retry::RetryPolicy;
#[cfg(feature = "amqp")]
use crate::transport::Transport;
use crate::{random, task};

/// How long a record waits for others while something is under way.
const LINGER: Duration = Duration::from_millis(5);
/// Bytes of a batch.
const BATCH_BYTES: usize = 1 << 20;
/// Batches under way.
const WINDOW: usize = 4;
/// Bytes that are not acknowledged.
const BUFFER_BYTES: usize = 32 << 20;

/// A producer that is being set up; see [`Kelda::producer`].
///
/// ```no_run
/// # async fn example(kelda: kelda_client::Kelda) -> Result<(), kelda_client::Error> {
/// use std::time::Duration;
/// let producer = kelda
///     .producer::<serde_json::Value>("orders")
///     .id("billing-1")
///     .linger(Duration::from_millis(20))
///     .batch_bytes(256 * 1024)
///     .open()
///     .await?;
/// assert_eq!(producer.id(), Some("billing-1"));
/// # Ok(()) }
/// ```
#[must_use = "a producer does nothing until `open`"]
pub struct ProducerBuilder<T: ?Sized, C = Json> {
    kelda: Kelda,
    stream: String,
    codec: C,
    options: Options,
    payload: PhantomData<fn(&T)>,
}

struct Options {
    idempotent: bool,
    id: Option<String>,
    epoch: Option<u64>,
    linger: Duration,
    window: usize,
    bounds: Bounds,
    reconnect: RetryPolicy,
}

impl Kelda {
    /// A producer for a stream whose payloads are `T`; JSON, unless another codec is set.
    pub fn producer<T: ?Sized>(&self, stream: &str) -> ProducerBuilder<T> {
        let batch_records = MAX_BATCH_RECORDS as u32;
        let options = Options {
            idempotent: true,
            id: None,
            epoch: None,
            linger: LINGER,
            window: WINDOW,
            bounds: Bounds { batch_bytes: BATCH_BYTES, batch_records, buffer_bytes: BUFFER_BYTES },
            reconnect: self.shared.reconnect,
        };
        let (kelda, stream) = (self.clone(), stream.to_owned());
        ProducerBuilder { kelda, stream, codec: Json, options, payload: PhantomData }
    }
}

impl<T: ?Sized, C> ProducerBuilder<T, C> {
    /// How payloads are encoded.
    pub fn codec<E: Encode<T>>(self, codec: E) -> ProducerBuilder<T, E> {
        let ProducerBuilder { kelda, stream, options, payload, .. } = self;
        ProducerBuilder { kelda, stream, codec, options, payload }
    }

    /// A fixed id, so that a newer run fences an older one: 1 to 256 visible ASCII characters. Without an epoch the
    /// producer claims one above all before. Without an id there is a random one, and no run ever meets another.
    /// A server forgets a producer that sent nothing for 7 days: with a random id it goes on by itself, with a fixed one it
    /// ends with [`Error::ProducerForgotten`], since a newer run may have come and gone meanwhile.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.options.id = Some(id.into());
        self
    }

    /// The epoch of this run of the id, which has to be higher than that of every run before. One that another run has used
    /// ends the producer with [`Error::Invalid`] at its first record, and nothing is stored.
    pub fn epoch(mut self, epoch: u64) -> Self {
        self.options.epoch = Some(epoch);
        self
    }

    /// Whether what is sent again is told from what is new (yes). Without it one batch is under way at a time, and one
    /// whose answer was lost is not sent again: its records have [`Error::OutcomeUnknown`]. RabbitMQ cannot tell them, so over
    /// AMQP with that server it is always so, and a record that was confirmed before the connection was lost has its receipt.
    pub fn idempotent(mut self, idempotent: bool) -> Self {
        self.options.idempotent = idempotent;
        self
    }

    /// How long a record waits for others while batches are under way (5 ms). With nothing under way it never waits.
    pub fn linger(mut self, linger: Duration) -> Self {
        self.options.linger = linger;
        self
    }

    /// A batch of so many bytes goes at once (1 MiB): 1 to 128 MiB.
    pub fn batch_bytes(mut self, bytes: usize) -> Self {
        self.options.bounds.batch_bytes = bytes;
        self
    }

    /// A batch of so many records goes at once (10,000): 1 to 10,000.
    pub fn batch_records(mut self, records: u32) -> Self {
        self.options.bounds.batch_records = records;
        self
    }

    /// Batches under way (4): 1 to 8, since a server remembers the results of so many.
    pub fn window(mut self, batches: usize) -> Self {
        self.options.window = batches;
        self
    }

    /// Bytes that are not acknowledged (32 MiB); beyond, sending waits.
    pub fn buffer_bytes(mut self, bytes: usize) -> Self {
        self.options.bounds.buffer_bytes = bytes;
        self
    }

    /// How it comes back after a lost connection (as the connection is set up: without end).
    pub fn reconnect(mut self, policy: RetryPolicy) -> Self {
        self.options.reconnect = policy;
        self
    }
}

impl<T: ?Sized, C: Encode<T>> ProducerBuilder<T, C> {
    /// Looks at the stream, claims an epoch if one is needed, and starts.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an option, `not-found` when there is no such stream, and whatever the server refuses.
    pub async fn open(self) -> Result<Producer<T, C>, Error> {
        let ProducerBuilder { kelda, stream, codec, mut options, .. } = self;
        check(&options)?;
        let Opened { append, content_type, identity } = open(&kelda, &stream, &options).await?;
        let (id, epoch) = (identity.id, identity.epoch);
        if id.is_none() {
            options.window = 1;
        }
        let meters = ProducerMeters::new(&kelda.labels(&stream));
        let buffer = Arc::new(Buffer {
            stream,
            bounds: options.bounds,
            state: Mutex::new(State::default()),
            work: Notify::new(),
            room: Notify::new(),
            ended: watch::Sender::new(false),
        });
        let diagnostics = kelda.shared.diagnostics.clone();
        let Options { window, linger, reconnect, .. } = options;
        let sending =
            Sending::new(Arc::clone(&buffer), append, window, linger, reconnect, diagnostics, meters);
        drop(task::spawn(sending.run()));
        let tracing = kelda.shared.tracing.clone();
        let over_amqp = kelda.transport.http("").is_err();
        Ok(Producer { buffer, codec, tracing, over_amqp, content_type, id, epoch, payload: PhantomData })
    }
}

/// What a producer writes by.
struct Opened {
    append: Box<dyn Append>,
    content_type: String,
    identity: Identity,
}

/// Looks at the stream, and settles under which id is written.
async fn open(kelda: &Kelda, stream: &str, options: &Options) -> Result<Opened, Error> {
    #[cfg(feature = "amqp")]
    if let Transport::Amqp(amqp) = &kelda.transport {
        let stream_id = amqp.identify(stream).await?;
        let identity = match stream_id {
            UNKNOWN if options.id.is_some() || options.epoch.is_some() => {
                let what = "tell the records of a producer from repetitions: only a Kelda has";
                return Err(Error::Unsupported { what, transport: "AMQP" });
            }
            UNKNOWN => Identity::none(),
            _ => identity(kelda, stream, options).await?,
        };
        let append = AmqpAppend::new(amqp, stream, stream_id, identity.clone())?;
        return Ok(Opened { append: Box::new(append), content_type: String::new(), identity });
    }
    let http = kelda.transport.http("write to a stream")?;
    let head = kelda.head(stream).await?;
    let identity = identity(kelda, stream, options).await?;
    let append = HttpAppend::new(http, stream, head.stream_id, identity.clone());
    Ok(Opened { append: Box::new(append), content_type: head.content_type, identity })
}

/// Under which id and epoch it writes.
async fn identity(kelda: &Kelda, stream: &str, options: &Options) -> Result<Identity, Error> {
    let identity =
        |id: String, own, epoch| Identity { id: Some(id), own, epoch: Arc::new(AtomicU64::new(epoch)) };
    if !options.idempotent {
        return Ok(Identity::none());
    }
    let Some(id) = &options.id else {
        let id = format!("kelda-{:016x}{:016x}", random::seed(), random::seed());
        return Ok(identity(id, true, options.epoch.unwrap_or(0)));
    };
    let epoch = match options.epoch {
        Some(epoch) => epoch,
        None => claim::epoch(kelda, stream, id).await?,
    };
    Ok(identity(id.clone(), false, epoch))
}

fn check(options: &Options) -> Result<(), Error> {
    let Options { bounds: Bounds { batch_bytes, batch_records, buffer_bytes }, window, .. } = *options;
    let invalid = |what, value: String, expected| Err(Error::Invalid { what, value, expected });
    let visible =
        |id: &String| (1..=256).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic());
    if let Some(id) = options.id.as_ref().filter(|id| !visible(id)) {
        return invalid("producer id", format!("{id:?}"), "1 to 256 visible ASCII characters");
    }
    if !options.idempotent && (options.id.is_some() || options.epoch.is_some()) {
        return invalid(
            "producer id",
            "without idempotence".to_owned(),
            "no id and no epoch, or idempotence",
        );
    }
    if let Some(epoch) = options.epoch.filter(|epoch| *epoch > MAX_INTEGER) {
        return invalid("producer epoch", epoch.to_string(), "0 to 2^53-1");
    }
    if !(1..=MAX_BATCH_BYTES).contains(&batch_bytes) {
        return invalid("batch_bytes", batch_bytes.to_string(), "1 to 134217728");
    }
    if !(1..=MAX_BATCH_RECORDS as u32).contains(&batch_records) {
        return invalid("batch_records", batch_records.to_string(), "1 to 10000");
    }
    if !(1..=PRODUCER_RESULTS_KEPT).contains(&window) {
        return invalid("window", window.to_string(), "1 to 8");
    }
    if buffer_bytes == 0 {
        return invalid("buffer_bytes", "0".to_owned(), "at least 1");
    }
    Ok(())
}
