//! Recovery of a log in the object store, by any node: reads the slots of a fenced session, ends its log with a seal (P6),
//! commits what is left range by range (P7), releases its streams. Guarantees that a damaged slot stops everything and
//! changes nothing. Never deletes a seal, never passes a slot that it has not read.

mod clean;
mod fetch;
mod pass;
mod run;
mod seal;

pub(crate) use run::recover;
