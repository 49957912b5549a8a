//! The check of a stopped node's write-ahead logs and objects: owns what is read, and which records a fault concerns.
//! Guarantees the judgements of recovery and of the readers, never a second one, and that one segment or a few MiB of an
//! object are in memory at a time. Writes nothing but an index that is asked for anew
//! ([`rebuild_index`]), never knows the data directory's layout above `wal` or a stream's name.

mod finding;
mod gaps;
mod logs;
mod object;
mod objects;
mod rebuild;
mod slots;
mod uses;
mod window;

pub use finding::{Affected, Fault, Finding, Findings, MAX_FINDINGS};
pub use logs::{LogReport, Logs, SegmentReport, SegmentState, Tail, Torn, check_logs};
pub use objects::{ObjectReport, ObjectUse, Objects, check_objects, rebuild_index};
pub use slots::{SlotReport, SlotUse};
