//! Orders, persists and tails the metadata commands of Kelda and publishes views.
//!
//! Owns the log under the metadata state: the port [`LogStore`] with its backends, and [`MetaLog`], which
//! writes, reads, snapshots and publishes. Guarantees that every node applies the same entries in the same order,
//! that a proposal is answered after the view contains it, and that nothing is deleted because something could
//! not be read. Never decides what a command means.

mod check;
mod codec;
mod config;
mod driver;
mod health;
pub mod memory;
mod metalog;
mod open;
mod proposal;
mod replica;
mod seed;
mod shared;
pub mod sqlite;
mod store;

pub use check::{LogCheck, LogProblem, check};
pub use config::{MAX_BATCH, MetaLogConfig, SNAPSHOT_MIN_ENTRIES};
pub use health::{Health, Plane};
pub use memory::MemoryLog;
pub use metalog::MetaLog;
pub use open::OpenError;
pub use replica::Stop;
pub use seed::{SeedError, seed};
pub use sqlite::SqliteLog;
pub use store::{AppendError, FIRST_INDEX, LogError, LogStore, SnapshotPut};
