//! Named streams as every front end of Kelda calls them.
//!
//! Owns what a name means: create, fork, append, seal, read, wait, list, trim, delete, expiry. Guarantees one answer
//! to one question whichever front end asks: errors are values per operation, and [`Problem`] is the one table
//! of codes behind them. Never knows HTTP or AMQP, never stores anything itself, and no map in it grows with
//! requests for names that do not exist.

mod append;
mod caller;
mod content;
pub mod content_type;
mod create;
mod delete;
mod expiry;
mod flight;
mod fork;
mod head;
mod info;
mod initialise;
mod leftover;
mod list;
mod lookup;
mod node;
mod patience;
mod position;
mod problem;
mod producer;
mod read;
mod restart;
mod service;
mod stream_config;
mod timer;
mod trim;
mod update;

pub use append::{AppendError, AppendRequest, Receipt};
pub use caller::{Caller, Denied, Operation, authorise};
pub use content::{Content, ContentError};
pub use create::{CreateError, CreateRequest, Created};
pub use delete::DeleteError;
pub use fork::ForkError;
pub use head::HeadError;
pub use info::StreamInfo;
pub use list::{ListError, ListRequest, Listing, MAX_LIST};
pub use lookup::LookupError;
pub use node::{NodeFault, Ownership};
pub use position::{End, EndAt, Position, StartAt};
pub use problem::{Fact, Fault, Field, Problem};
pub use producer::{ProducerClaim, ProducerError, check_claim, check_stream_seq};
pub use read::ReadError;
pub use service::{Gauges, Service, ServiceConfig};
pub use stream_config::{ConfigError, Difference, StreamConfig};
pub use trim::TrimError;
pub use update::{Patch, RetentionPatch, UpdateError};

pub use kelda_engine::{Chunk, Health, MaintenanceReport, ReadLimit, Wait};
pub use kelda_format::rows::{Expiry, ProducerId, Retention, StreamKind};
