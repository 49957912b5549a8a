//! The HTTP front end.

pub mod app;
pub mod append;
pub mod body;
pub mod budget;
pub mod cors;
pub mod create;
pub mod cursor;
pub mod describe;
pub mod etag;
pub mod fields;
pub mod form;
pub mod json;
pub mod manage;
pub mod name;
pub mod offset;
pub mod query;
pub mod read;
pub mod refusal;
pub mod request;
pub mod router;
pub mod sse;
