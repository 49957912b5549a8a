//! The client library of Kelda.
//!
//! Owns how requests are made and answers understood, over HTTP. Guarantees that a batch is appended once and
//! that a reader neither repeats nor skips a record over a lost connection. Never compiles the server.

pub mod append;
mod backoff;
pub mod endpoint;
pub mod error;
mod http;
pub mod read;
pub mod stream;
mod timer;

pub use append::{Appended, Appender, encode, encode_bodies};
pub use error::{Error, Problem};
pub use kelda_format::batch::BatchBuilder;
pub use kelda_format::ids::{Offset, Timestamp};
pub use kelda_format::limits;
pub use kelda_format::name::StreamName;
pub use kelda_format::records::{CONTENT_TYPE, FrameWalk};
pub use kelda_format::{Headers, Record, StoredRecord};
pub use read::{ReadOptions, Reader, Start};
pub use stream::{Bound, CreateOptions, Kelda, Limits, Listing, StreamHead, path};
