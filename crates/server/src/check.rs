//! The check of a data directory whose node is stopped: what is there, and what is damaged.
//!
//! Owns the order and the report. Guarantees that nothing in the directory is changed unless a repair is asked for (it is
//! opened for reading only, and the metadata are read in a copy elsewhere), that no node starts on it meanwhile, and that
//! every fault is named with file, byte and records. Never removes what is damaged, never decides what a start or a reader
//! would say: that is engine's and metalog's.

mod copy;
mod error;
mod leftovers;
mod metadata;
mod repair;
mod report;
mod run;
mod streams;

pub use error::CheckError;
pub use kelda_engine::check::{
    Affected, Fault, Finding, LogReport, ObjectReport, ObjectUse, SegmentReport, SegmentState, SlotReport,
    SlotUse, Torn,
};
pub(crate) use metadata::state as metadata_state;
pub use repair::{Failed, Plan, Repaired};
pub use report::{Leftover, MetadataReport, Report, StreamReport, Totals};
pub use run::{Checker, check};
