//! Points in time as text.
//!
//! Owns RFC 3339 both ways, in whole milliseconds. Guarantees that a time before 1970 is refused rather than
//! wrapped. Never asks what time it is: a duration back from now is resolved by who has the clock.

use kelda_format::ids::Timestamp;

/// Reads an RFC 3339 time, such as `2026-01-31T12:00:00Z` or `2026-01-31T12:00:00.250+01:00`.
///
/// A fraction finer than a millisecond is cut. A space in place of the offset's `+` is taken for the `+` that
/// query strings turn into a space.
///
/// # Errors
/// A sentence that repeats the text and says what would be right.
pub fn parse(text: &str) -> Result<Timestamp, String> {
    let wrong = || {
        format!(
            "`{}` is not a time: write RFC 3339, such as 2026-01-31T12:00:00Z",
            crate::http::offset::excerpt(text)
        )
    };
    // jiff also reads shorter and bracketed forms, which RFC 3339 does not have.
    let bytes = text.as_bytes();
    let shaped = bytes.len() >= 20
        && bytes[..4].iter().all(u8::is_ascii_digit)
        && bytes[4] == b'-'
        && bytes[7] == b'-'
        && matches!(bytes[10], b'T' | b't' | b' ')
        && bytes[13] == b':'
        && bytes[16] == b':'
        && bytes
            .iter()
            .all(|b| matches!(b, b'0'..=b'9' | b'-' | b':' | b'T' | b't' | b' ' | b'.' | b'+' | b'Z' | b'z'));
    if !shaped {
        return Err(wrong());
    }
    let mended = match text.rsplit_once(' ') {
        Some((time, zone)) if time.len() >= 19 => format!("{time}+{zone}"),
        _ => text.to_owned(),
    };
    let time: jiff::Timestamp = mended.parse().map_err(|_| wrong())?;
    u64::try_from(time.as_millisecond())
        .map(Timestamp)
        .map_err(|_| format!("`{text}` is before 1970: no record is that old"))
}

/// Writes a time as RFC 3339 in UTC with exactly three digits of fraction.
#[must_use]
pub fn format(time: Timestamp) -> String {
    let ms = i64::try_from(time.0).unwrap_or(i64::MAX);
    let time = jiff::Timestamp::from_millisecond(ms).unwrap_or(jiff::Timestamp::MAX);
    format!("{time:.3}")
}

#[cfg(test)]
mod tests;
