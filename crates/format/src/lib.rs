//! Every byte layout that Kelda stores or speaks: records, WAL, objects, commands, snapshots, limits.
//!
//! Owns encodings and the plain data they carry. Guarantees that what decodes was checksummed and is within
//! the limits. Never does I/O, never reads a clock, has no `async fn`.

pub mod amqp;
pub mod backup;
pub mod batch;
pub mod block;
pub mod codec;
pub mod command;
pub mod fault;
pub mod fuzzing;
pub mod header;
pub mod ids;
pub mod keys;
pub mod limits;
pub mod logentry;
pub mod name;
pub mod object;
pub mod outcome;
pub mod record;
mod record_meta;
pub mod records;
pub mod rejection;
pub mod rows;
pub mod snapshot;
pub mod summary;
pub mod wal;
pub mod wire;

pub use batch::{Batch, BatchBuilder};
pub use block::Block;
pub use codec::Codec;
pub use command::Command;
pub use header::{Header, Headers, Value};
pub use ids::{
    ClusterId, Epoch, NodeId, ObjectId, Offset, SessionEpoch, SessionId, StreamId, Timestamp, TransferId,
};
pub use limits::LimitError;
pub use logentry::LogEntry;
pub use name::{NameError, StreamName};
pub use outcome::Outcome;
pub use record::{Record, StoredRecord};
pub use record_meta::Records;
pub use rejection::Rejection;
pub use wire::{DecodeError, NewerVersion};
