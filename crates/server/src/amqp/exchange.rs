//! Exchanges.
//!
//! Owns which messages a binding is for. Pure.

pub mod matching;
