//! The storage engine of Kelda: write-ahead log, caches, upload, recovery, reads.
//!
//! Owns the streams that this node holds open and the write-ahead log under them. Guarantees that what is
//! acknowledged survives the process, that readers never see past the durable tail, and that memory and disk stay
//! within named bounds. Never resolves names, never speaks a protocol, never writes metadata on the append path.

mod bounds;
mod cache;
pub mod check;
mod config;
mod cut;
mod damage;
mod engine;
mod error;
mod find_time;
mod health;
#[cfg(test)]
mod held;
mod hold;
mod lifecycle;
mod maintenance;
mod objects;
mod pack;
mod propose;
mod read;
mod recovery;
mod retry;
mod session;
mod start;
mod status;
mod stream;
mod takeover;
mod types;
mod upload;
mod wait;
mod waiters;
mod wal;

pub use config::{EngineConfig, Identity, MaintenanceConfig, MinFree};
pub use engine::Engine;
pub use error::{AppendError, EndError, OpenError, ReadError, ShutdownError, StartError};
pub use health::{Health, HealthCell};
pub use hold::CollectionHold;
pub use kelda_format::rows::WalKind;
pub use kelda_meta::producers::ProducerClaim;
pub use maintenance::MaintenanceReport;
pub use maintenance::clock::{Against, ClockFault};
pub use maintenance::compact::{DamagedRange, LOOSE_REFS};
pub use stream::OpenStream;
pub use types::{AppendRequest, Appended, Chunk, ReadLimit, StreamStatus, Wait};
