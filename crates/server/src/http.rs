//! The HTTP front end.

pub mod cursor;
pub mod etag;
pub mod fields;
pub mod form;
pub mod json;
pub mod offset;
pub mod query;
pub mod refusal;
pub mod request;
pub mod sse;
