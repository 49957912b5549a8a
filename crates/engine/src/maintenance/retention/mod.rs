//! Retention: the limits of a stream, applied. The plan is pure; the runner looks and trims.

mod plan;
mod run;

pub(crate) use plan::{Limits, cut};
