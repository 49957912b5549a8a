//! Exchanges.
//!
//! Owns exchanges and bindings: how they are made, and which queues a message reaches through them.

pub mod cache;
pub mod change;
pub mod matching;
pub mod route;
pub mod sweep;
