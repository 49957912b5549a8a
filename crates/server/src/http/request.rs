//! The header fields of a request, typed.
//!
//! Owns what each field may say. Guarantees that a field which is given twice with different values, or with a value that
//! it does not take, is refused by name. Never looks at a stream or a body.

mod expiry;
mod producer;
mod retention;

use axum::http::{HeaderMap, HeaderName};
use bytes::Bytes;
use kelda_format::ids::{Offset, StreamId};

use super::refusal::Refusal;
use super::{fields, offset};

pub use expiry::expiry;
pub use producer::producer;
pub use retention::{retention, retention_patch};

/// The value of a field that may be given once, as text.
///
/// # Errors
/// It is given twice with different values, or is not visible ASCII.
pub fn one<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, Refusal> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.any(|other| other != value) {
        return Err(Refusal::header(name, "it is given twice with different values"));
    }
    value
        .to_str()
        .map(|text| Some(text.trim()))
        .map_err(|_| Refusal::header(name, "its value is not visible ASCII"))
}

/// The value of a field, parsed.
///
/// # Errors
/// As [`one`], or what the parser says.
pub fn parsed<T>(
    headers: &HeaderMap,
    name: &HeaderName,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Result<Option<T>, Refusal> {
    one(headers, name)?.map(parse).transpose().map_err(|detail| Refusal::header(name, detail))
}

/// The content type; absent when empty.
///
/// # Errors
/// As [`one`].
pub fn content_type(headers: &HeaderMap) -> Result<Option<&str>, Refusal> {
    Ok(one(headers, &fields::CONTENT_TYPE)?.filter(|text| !text.is_empty()))
}

/// Whether the request seals the stream. Anything but `true` counts as absent, as the protocol's section 4.1 asks.
#[must_use]
pub fn closes(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(fields::STREAM_CLOSED).iter();
    values.any(|value| value.as_bytes().eq_ignore_ascii_case(b"true"))
}

/// The identity that the stream must have.
///
/// # Errors
/// It is not a whole number.
pub fn if_stream(headers: &HeaderMap) -> Result<Option<StreamId>, Refusal> {
    parsed(headers, &fields::KELDA_IF_STREAM_ID, |text| digits(text, u64::MAX).map(StreamId))
}

/// The tail that an append expects.
///
/// # Errors
/// It is not an offset.
pub fn match_offset(headers: &HeaderMap) -> Result<Option<Offset>, Refusal> {
    parsed(headers, &fields::KELDA_MATCH_OFFSET, offset::parse)
}

/// The offset before which records are given up.
///
/// # Errors
/// It is not an offset.
pub fn trim_before(headers: &HeaderMap) -> Result<Option<Offset>, Refusal> {
    parsed(headers, &fields::KELDA_TRIM_BEFORE, offset::parse)
}

/// The writer's own sequence: opaque bytes.
///
/// # Errors
/// It is given twice with different values.
pub fn stream_seq(headers: &HeaderMap) -> Result<Option<Bytes>, Refusal> {
    let mut values = headers.get_all(fields::STREAM_SEQ).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.any(|other| other != value) {
        return Err(Refusal::header(&fields::STREAM_SEQ, "it is given twice with different values"));
    }
    Ok(Some(Bytes::copy_from_slice(value.as_bytes())))
}

/// Decimal digits and nothing else, at most `most`.
pub(super) fn digits(text: &str, most: u64) -> Result<u64, String> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let value = if plain { text.parse().ok() } else { None };
    value.filter(|value| *value <= most).ok_or_else(|| {
        format!(
            "`{}` is not right: write a whole number in decimal digits, at most {most}",
            offset::excerpt(text)
        )
    })
}

#[cfg(test)]
mod tests;
