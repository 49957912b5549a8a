//! How long records are to be kept.

use axum::http::{HeaderMap, HeaderName};
use kelda_format::limits::MAX_INTEGER;
use kelda_service::{Patch, Retention, RetentionPatch};

use super::{digits, one, parsed};
use crate::duration;
use crate::http::fields;
use crate::http::refusal::Refusal;

/// The word that removes a bound.
const NONE: &str = "none";

/// The bounds that a creation asks for; an absent field is no opinion.
///
/// # Errors
/// A field has a value that it does not take.
pub fn retention(headers: &HeaderMap) -> Result<Retention, Refusal> {
    Ok(Retention {
        max_age_ms: parsed(headers, &fields::KELDA_MAX_AGE, age)?,
        max_bytes: parsed(headers, &fields::KELDA_MAX_BYTES, bytes)?,
        segment_bytes: parsed(headers, &fields::KELDA_SEGMENT_BYTES, bytes)?,
    })
}

/// The change of bounds that a PATCH asks for; `none` removes one.
///
/// # Errors
/// A field has a value that it does not take.
pub fn retention_patch(headers: &HeaderMap) -> Result<RetentionPatch, Refusal> {
    Ok(RetentionPatch {
        max_age_ms: patch(headers, &fields::KELDA_MAX_AGE, age)?,
        max_bytes: patch(headers, &fields::KELDA_MAX_BYTES, bytes)?,
        segment_bytes: patch(headers, &fields::KELDA_SEGMENT_BYTES, bytes)?,
    })
}

fn patch(
    headers: &HeaderMap,
    name: &HeaderName,
    parse: impl FnOnce(&str) -> Result<u64, String>,
) -> Result<Patch, Refusal> {
    match one(headers, name)? {
        None => Ok(Patch::Keep),
        Some(NONE) => Ok(Patch::Clear),
        Some(text) => {
            parse(text).map(Patch::Set).map_err(|detail| Refusal::header(name, format!("{detail}, or none")))
        }
    }
}

fn age(text: &str) -> Result<u64, String> {
    match duration::parse_ms(text)? {
        0 => Err(format!("`{text}` is too short: at least 1ms")),
        ms => Ok(ms),
    }
}

fn bytes(text: &str) -> Result<u64, String> {
    match digits(text, MAX_INTEGER)? {
        0 => Err("`0` is too small: at least 1".to_owned()),
        bytes => Ok(bytes),
    }
}
