//! Records as JSON, `application/vnd.kelda.records+json`.
//!
//! Owns both directions of that format. Guarantees that what is written reads back as the same records, headers with
//! their types included, that a body which is not UTF-8 is not mangled (it goes as `body_base64`), and that reading is
//! bounded by the limits of a batch. Numbers that JavaScript would round are decimal strings. Never interprets a body.

mod decode;
mod encode;
mod object;
mod value;

pub use decode::{DecodeFault, decode, decode_record};
pub use encode::{CLOSE, OPEN, RecordText, put_record};
pub use value::header;

#[cfg(test)]
mod tests;
