//! Tests of the whole: the tree is tidy, the system keeps its promises in simulation.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types, missing_docs)]

mod checker;
mod simulation;
mod tidy;
