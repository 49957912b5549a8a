//! Deterministic simulation, checkers, end-to-end tests and tidiness of Kelda.
//!
//! Owns whole nodes on virtual time, over a disk, a store and a metadata log that delay, fail, tear and forget what
//! was not synced; clients that load them; and the checker that holds what clients were told against what is there
//! at the end. Guarantees that a run is a function of its seed. Never touches the host.

pub mod chaos;
pub mod checker;
pub mod clients;
pub mod history;
pub mod run;
pub mod world;
