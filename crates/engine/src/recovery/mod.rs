//! Replaying the write-ahead logs of sessions that ended without a clean close: owns the judgement on what is found
//! on the disk and the run that commits it. Guarantees P6, P7, P10 and, for the local WAL, P11. Never makes a record
//! readable before its object is committed.

pub(crate) mod directory;
mod examine;
pub(crate) mod log;
pub(crate) mod plan;
pub(crate) mod run;
pub(crate) mod store;

pub(crate) use examine::Examined;
