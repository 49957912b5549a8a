//! From sealed segments to committed objects: owns the plan of a commit and its run. Guarantees that segments are
//! committed in order, each by one command (P7), and that a WAL file is removed only after its commit is applied.
//! Never acknowledges an append.

pub(crate) mod finish;
pub(crate) mod plan;
pub(crate) mod publish;
pub(crate) mod run;
