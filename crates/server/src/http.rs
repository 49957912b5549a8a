//! The HTTP front end.

pub mod fields;
pub mod offset;
pub mod query;
