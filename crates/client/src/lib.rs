//! The client library of Kelda.
//!
//! Owns how requests are made and answers understood, over HTTP. Guarantees that a batch is appended once and
//! that a reader neither repeats nor skips a record over a lost connection. Never compiles the server.

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
mod random;
pub mod read;
mod reader;
mod retry;
mod start;
pub mod stream;
mod stream_limits;
mod task;
mod timer;

pub use append::{Appended, Appender, encode, encode_bodies};
pub use checkpoint::{Checkpoint, FileCheckpoint, Position, StoreError};
pub use codec::{Binary, Decode, Encode, Json, Text};
pub use connect::{Builder, Kelda};
pub use declare::Topology;
pub use diagnostic::{Diagnostic, Diagnostics};
pub use envelope::TraceContext;
pub use error::{CheckpointError, CodecError, Difference, Error, Problem, StreamMismatch};
pub use kelda_format::batch::BatchBuilder;
pub use kelda_format::ids::{Offset, StreamId, Timestamp};
pub use kelda_format::limits;
pub use kelda_format::name::StreamName;
pub use kelda_format::records::{CONTENT_TYPE, FrameWalk};
pub use kelda_format::{Header, Headers, Record, StoredRecord, Value};
pub use message::Message;
pub use read::{RangeReader, ReadOptions, Start};
pub use reader::{
    Delivery, FailureCause, Messages, OnGap, Outcome, Reader, ReaderBuilder, ReaderEnd, ReaderState,
    SaveEvery,
};
pub use retry::RetryPolicy;
pub use start::StartAt;
pub use stream::{Bound, CreateOptions, Limits, Listing, StreamHead, path};
pub use stream_limits::{StreamArguments, StreamLimits, days, hours, max_age_spelling};
