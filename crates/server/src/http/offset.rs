//! Offsets as text.
//!
//! Owns the two ways an offset is read and the one way it is written. Guarantees that written offsets sort as
//! text in the order of the numbers, and never contain a character that a URL or a header would have to escape.
//! Never resolves an offset: whether it exists is the service's business.

use axum::http::HeaderValue;
use kelda_format::ids::Offset;

/// Digits of a written offset: enough for any `u64`.
const DIGITS: usize = 20;
/// Digits in each group of the two-group spelling.
const GROUP: usize = 16;

/// Writes an offset as 20 decimal digits.
#[must_use]
pub fn format(offset: Offset) -> String {
    format!("{:0DIGITS$}", offset.0)
}

/// The same as the value of a header field.
#[must_use]
pub fn value(offset: Offset) -> HeaderValue {
    let mut digits = [b'0'; DIGITS];
    let mut left = offset.0;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (left % 10) as u8;
        left /= 10;
    }
    // Digits are visible ASCII.
    HeaderValue::from_bytes(&digits).unwrap_or(HeaderValue::from_static(""))
}

/// Reads an offset: decimal digits, or `<16 digits>_<16 digits>` with the first group zero, meaning the second.
///
/// # Errors
/// A sentence that repeats the text and says what would be right.
pub fn parse(text: &str) -> Result<Offset, String> {
    let wrong = || {
        format!(
            "`{}` is not an offset: write up to {DIGITS} decimal digits, as Stream-Next-Offset gives them",
            excerpt(text)
        )
    };
    let digits = match text.split_once('_') {
        Some((first, second)) if first.len() == GROUP && second.len() == GROUP => {
            if first.bytes().any(|b| b != b'0') {
                return Err(wrong());
            }
            second
        }
        Some(_) => return Err(wrong()),
        None => text,
    };
    if digits.is_empty() || digits.len() > DIGITS || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(wrong());
    }
    digits.parse().map(Offset).map_err(|_| wrong())
}

/// At most the first 64 characters of a text that is repeated in an error.
#[must_use]
pub fn excerpt(text: &str) -> String {
    const KEPT: usize = 64;
    if text.chars().nth(KEPT).is_none() {
        text.to_owned()
    } else {
        text.chars().take(KEPT).chain(['…']).collect()
    }
}

#[cfg(test)]
mod tests;
