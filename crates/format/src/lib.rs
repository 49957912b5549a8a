//! Every byte layout that Kelda stores or speaks: records, WAL, objects, commands, snapshots, limits.
//!
//! Owns encodings and the plain data they carry. Guarantees that what decodes was checksummed and is within
//! the limits. Never does I/O, never reads a clock, has no `async fn`.

pub mod header;
pub mod ids;
pub mod limits;
pub mod name;
pub mod record;
pub mod wire;

pub use header::{Header, Headers, Value};
pub use ids::{
    ClusterId, Epoch, NodeId, ObjectId, Offset, SessionEpoch, SessionId, StreamId, Timestamp, TransferId,
};
pub use limits::LimitError;
pub use name::{NameError, StreamName};
pub use record::{Record, StoredRecord};
pub use wire::DecodeError;
