//! When a stream is to expire.

use axum::http::HeaderMap;
use kelda_format::limits::MAX_INTEGER;
use kelda_service::{Expiry, Fact, Problem};

use super::{one, parsed};
use crate::http::refusal::Refusal;
use crate::http::{fields, offset};
use crate::time;

/// The expiry that a creation asks for: [`Expiry::Never`] without a field, since a plain request has that opinion.
///
/// # Errors
/// Both fields are there, or one has a value that it does not take.
pub fn expiry(headers: &HeaderMap) -> Result<Expiry, Refusal> {
    let ttl = parsed(headers, &fields::STREAM_TTL, ttl_seconds)?;
    let at = parsed(headers, &fields::STREAM_EXPIRES_AT, time::parse)?;
    match (ttl, at) {
        (None, None) => Ok(Expiry::Never),
        (Some(seconds), None) => Ok(Expiry::Sliding { ttl_ms: seconds * 1_000 }),
        (None, Some(at)) => Ok(Expiry::At(at)),
        (Some(_), Some(_)) => {
            let detail = "Stream-TTL and Stream-Expires-At are both given: give one";
            let given = one(headers, &fields::STREAM_TTL)?.unwrap_or_default().to_owned();
            Err(Refusal::new(Problem::InvalidConfig, detail).with("stream_ttl", Fact::Text(given)))
        }
    }
}

/// Seconds as the protocol writes them: decimal digits without leading zeros, sign, point or exponent.
fn ttl_seconds(text: &str) -> Result<u64, String> {
    const MOST: u64 = MAX_INTEGER / 1_000;
    let plain = text == "0" || (!text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit()));
    let value = if plain { text.parse::<u64>().ok() } else { None };
    value.filter(|seconds| *seconds <= MOST).ok_or_else(|| {
        format!(
            "`{}` is not right: write whole seconds in decimal digits without leading zeros, at most {MOST}",
            offset::excerpt(text)
        )
    })
}
