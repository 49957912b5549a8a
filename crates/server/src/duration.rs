//! Durations as people write them in HTTP, on the command line and in configuration.
//!
//! Owns the grammar `<decimal digits><unit>` with the units `ms s m h d`, nothing else: no sign, no fraction,
//! no combination, so that every duration has few spellings and none is misread. Guarantees that what
//! [`format()`] writes, [`parse()`] reads back. Never knows RabbitMQ's grammar, which is only for AMQP arguments.

use std::time::Duration;

/// The units, largest first, with their length in milliseconds.
const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Parses a duration such as `250ms`, `25s`, `15m`, `1h` or `7d` into milliseconds.
///
/// # Errors
/// A sentence that repeats the text and says what would be right.
pub fn parse_ms(text: &str) -> Result<u64, String> {
    let wrong = || {
        format!("`{text}` is not a duration: write digits and a unit (ms, s, m, h, d), such as 250ms or 7d")
    };
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let (_, factor) = UNITS.into_iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
    if number.is_empty() {
        return Err(wrong());
    }
    let too_long = || format!("`{text}` is too long a duration: the longest is {}", format_ms(MAX_MS));
    let ms = number.parse::<u64>().ok().and_then(|n| n.checked_mul(factor)).ok_or_else(too_long)?;
    if ms > MAX_MS { Err(too_long()) } else { Ok(ms) }
}

/// The longest duration that is accepted: a hundred years, so that sums with a time never overflow.
pub const MAX_MS: u64 = 36_500 * 86_400_000;

/// Parses a duration; see [`parse_ms`].
///
/// # Errors
/// A sentence that repeats the text and says what would be right.
pub fn parse(text: &str) -> Result<Duration, String> {
    parse_ms(text).map(Duration::from_millis)
}

/// Writes milliseconds in the largest unit that holds them exactly.
#[must_use]
pub fn format_ms(ms: u64) -> String {
    if ms == 0 {
        return "0s".to_owned();
    }
    let (name, factor) =
        UNITS.into_iter().find(|(_, factor)| ms.is_multiple_of(*factor)).unwrap_or(("ms", 1));
    format!("{}{name}", ms / factor)
}

/// Writes a duration, cut to whole milliseconds, in the largest unit that holds it exactly.
#[must_use]
pub fn format(duration: Duration) -> String {
    format_ms(u64::try_from(duration.as_millis()).unwrap_or(MAX_MS))
}

#[cfg(test)]
mod tests;
