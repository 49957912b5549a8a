//! The service over a simulated disk, store and clock: one file per behaviour.
#![allow(clippy::unwrap_used, missing_docs)]

mod append;
mod bench;
mod bounds;
mod create;
mod delete;
mod expiry;
mod forks;
mod json;
mod list;
mod names;
mod position;
mod producers;
mod seal;
mod sessions;
mod trim;
mod unfinished;
mod update;
mod waiting;
