//! The deterministic metadata machine of Kelda: commands, state, queries, invariants.
//!
//! Owns what the cluster's state is and what each command does to it. Guarantees that the same commands in the
//! same order give the same state everywhere: no clock, no randomness, no hash order, no I/O. Never orders,
//! stores or sends commands; that is behind the [`Meta`] port.

mod apply;
pub mod invariants;
mod port;
pub mod producers;
mod query;
mod restore;
mod snapshot;
mod state;
mod tables;

pub use apply::ApplyError;
pub use kelda_format::command::{self, Command};
pub use kelda_format::fault::{Limited, PartFault};
pub use kelda_format::rows;
pub use kelda_format::{LogEntry, Outcome, Rejection};
pub use port::{Meta, ProposeError};
pub use query::{ListPage, SessionStatus};
pub use state::{FIRST_FEATURE_LEVEL, State};
