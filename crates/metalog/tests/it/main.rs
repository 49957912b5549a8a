//! Tests of the metadata log: the contract every backend keeps, what is special to one, and the log on top.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, missing_docs)]

mod backends;
mod contract;
mod log;
mod memory_steps;
mod seeding;
mod sqlite_file;
