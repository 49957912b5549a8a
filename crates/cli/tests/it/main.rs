//! Tests that use the real binary as a user would: owns its processes, guarantees that each is ended by the
//! test that started it, never touches another.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types, missing_docs)]

mod append_input;
mod backup;
mod bench;
mod check;
mod checkpoints;
mod client;
mod crash;
mod ends;
mod exit_codes;
mod golden;
mod json_output;
mod limits;
mod node;
mod profiles;
mod progress;
mod reading;
mod reference;
mod restarts;
mod round_trip;
mod serve;
mod tour;
