//! From acknowledged entries to committed objects: owns the plan of a commit and its run. Guarantees that segments and ranges
//! are committed in order, each by one command (P7), and that nothing of a WAL is removed before its commit is applied.
//! Never acknowledges an append.

pub(crate) mod commit;
pub(crate) mod finish;
mod lease;
pub(crate) mod packs;
pub(crate) mod plan;
pub(crate) mod publish;
pub(crate) mod ranges;
pub(crate) mod run;
mod settle;
