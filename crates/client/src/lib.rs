//! The client library of Kelda: readers and producers that can be left running.
//!
//! ```no_run
//! use kelda_client::{Kelda, StreamLimits, days};
//!
//! #[derive(serde::Serialize, serde::Deserialize)]
//! struct OrderPlaced {
//!     id: u64,
//! }
//!
//! # async fn example() -> Result<(), kelda_client::Error> {
//! let kelda = Kelda::connect("http://127.0.0.1:4437").await?;
//! let limits = StreamLimits::new().max_age(days(7)).max_bytes(10_000_000_000).content_type("application/json");
//! kelda.declare_stream("orders", limits).await?;
//!
//! let producer = kelda.producer::<OrderPlaced>("orders").open().await?;
//! let sent = producer.send(&OrderPlaced { id: 1 }).await?;
//! println!("stored at {:?}", sent.await?.offset);
//!
//! let reader = kelda
//!     .stream::<OrderPlaced>("orders")
//!     .from_first()
//!     .consume(|message| async move { println!("order {}", message.payload().id) })
//!     .await?;
//! println!("{}", reader.join().await);
//! # Ok(()) }
//! ```
//!
//! | to | there is |
//! | --- | --- |
//! | connect | [`Kelda::connect`], [`Builder`] |
//! | declare streams | [`Kelda::declare_stream`], [`StreamLimits`], [`Topology`] |
//! | write | [`Kelda::producer`], [`Producer`], [`Outgoing`] |
//! | read with a handler | [`Kelda::stream`], [`ReaderBuilder`], [`Reader`] |
//! | read with a loop | [`ReaderBuilder::messages`], [`Messages`] |
//! | go on where the last run stopped | [`Checkpoint`], [`FileCheckpoint`] |
//! | carry traces on | [`TraceContext`], [`Propagator`] |
//! | see what happens in the background | [`Kelda::diagnostics`], [`Reader::watch`] |
//! | copy or export a range | [`RangeReader`] |
//! | look at and manage streams | [`Kelda::head`], [`Kelda::list`], [`Kelda::trim`], [`Kelda::set`], [`Kelda::seal`], [`Kelda::delete`] |
//!
//! | what it can | where it is said |
//! | --- | --- |
//! | HTTP/1.1 and HTTP/2, plain and with TLS by rustls; the system's authorities or given ones | [`Builder::http2`], [`Builder::tls_roots_pem`] |
//! | goes straight to the node that owns a stream, with credentials for given addresses only | [`Builder::nodes`] |
//! | ends every wait: with a result, an error, or one that says that the outcome is unknown | [`Error::is_outcome_unknown`] |
//! | starts at the first, last or next record, at an offset, a time or so far back | [`StartAt`] |
//! | has no more entries out than it is told; handles several at once | [`ReaderBuilder::prefetch`], [`ReaderBuilder::concurrency`] |
//! | stops at an entry that fails, or goes on with a copy of it put aside | [`ReaderBuilder::skip_failures`] |
//! | comes back by itself, and hands over again only what was not finished | [`ReaderBuilder::reconnect`] |
//! | stores how far it got, anywhere | [`Checkpoint`], [`ReaderBuilder::resume_with`] |
//! | writes in batches, several at once, each record once and in order | [`ProducerBuilder`] |
//! | appends only at a certain offset | [`Producer::send_at`] |
//! | ids, types, causes and W3C traces in headers; traces that go on by themselves | [`envelope`], [`TraceContext`], [`Propagator`] |
//! | metrics through the `metrics` facade, spans and events through `tracing` | the guide's chapter on the client library |
//!
//! Over AMQP 0-9-1 the same types speak to a Kelda or a RabbitMQ: `Kelda::connect("amqp://guest:guest@127.0.0.1:5672")`, with the
//! cargo feature `amqp`, which is on by default. What AMQP has no way to say is [`Error::Unsupported`].
//!
//! Owns how requests are made and answers understood. Guarantees that a batch is appended once and
//! that a reader neither repeats nor skips a record over a lost connection. Never compiles the server.

#[cfg(feature = "amqp")]
mod amqp;
pub mod append;
mod backoff;
mod checkpoint;
mod codec;
mod connect;
mod declare;
mod diagnostic;
pub mod endpoint;
pub mod envelope;
pub mod error;
mod http;
mod message;
mod meters;
mod outgoing;
mod producer;
mod random;
pub mod read;
mod reader;
mod retry;
mod start;
pub mod stream;
mod stream_limits;
mod task;
mod timer;
mod tls;
mod trace;
mod transport;

pub use append::{Appended, encode, encode_bodies};
pub use checkpoint::{Checkpoint, FileCheckpoint, Position, StoreError};
pub use codec::{Binary, Decode, Encode, Json, Text};
pub use connect::{Builder, Kelda};
pub use declare::Topology;
pub use diagnostic::{Diagnostic, Diagnostics};
pub use envelope::TraceContext;
pub use error::{CheckpointError, CodecError, Difference, Error, Problem, StreamMismatch};
pub use kelda_format::batch::{Batch, BatchBuilder};
pub use kelda_format::ids::{Offset, StreamId, Timestamp};
pub use kelda_format::limits;
pub use kelda_format::name::StreamName;
pub use kelda_format::records::{CONTENT_TYPE, FrameWalk};
pub use kelda_format::{Header, Headers, Record, StoredRecord, Value};
pub use message::Message;
pub use outgoing::{IntoValue, Outgoing};
pub use producer::{Producer, ProducerBuilder, Receipt, Sent, SentBatch};
pub use read::{RangeReader, ReadOptions};
pub use reader::{
    Delivery, FailureCause, Messages, OnGap, Outcome, Reader, ReaderBuilder, ReaderEnd, ReaderState,
    SaveEvery,
};
pub use retry::RetryPolicy;
pub use start::{EndAt, StartAt};
pub use stream::{Bound, Limits, Listing, StreamHead, path};
pub use stream_limits::{StreamArguments, StreamLimits, days, hours, max_age_spelling};
pub use trace::Propagator;
