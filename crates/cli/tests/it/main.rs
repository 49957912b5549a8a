//! Tests that use the real binary as a user would: owns its processes, guarantees that each is ended by the
//! test that started it, never touches another.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types, missing_docs)]

mod bench;
mod check;
mod crash;
mod golden;
mod node;
mod tour;
