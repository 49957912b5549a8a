//! What is a duration, what is not, and that both directions agree.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

#[test]
fn every_unit() {
    for (text, ms) in
        [("0s", 0), ("250ms", 250), ("25s", 25_000), ("15m", 900_000), ("1h", 3_600_000), ("7d", 604_800_000)]
    {
        assert_eq!(parse_ms(text), Ok(ms), "{text}");
    }
}

#[test]
fn everything_else_is_refused_with_the_text() {
    for text in
        ["", "5", "ms", "-1s", "+1s", "1.5h", "1h30m", "1 h", " 1h", "1H", "1w", "7D", "1M", "1e3s", "٣s"]
    {
        let error = parse_ms(text).unwrap_err();
        assert!(error.contains(&format!("`{text}`")) && error.contains("250ms"), "{error}");
    }
}

#[test]
fn too_long_is_refused_and_says_the_longest() {
    for text in ["36501d", "18446744073709551615ms", "99999999999999999999999s", "18446744073709551615d"] {
        assert!(parse_ms(text).unwrap_err().contains("36500d"), "{text}");
    }
    assert_eq!(parse_ms("36500d"), Ok(MAX_MS));
}

#[test]
fn written_in_the_largest_exact_unit() {
    for (ms, text) in
        [(0, "0s"), (1, "1ms"), (1_500, "1500ms"), (60_000, "1m"), (90_000, "90s"), (86_400_000, "1d")]
    {
        assert_eq!(format_ms(ms), text);
    }
}

proptest! {
    #[test]
    fn what_is_written_reads_back(ms in 0..=MAX_MS) {
        prop_assert_eq!(parse_ms(&format_ms(ms)), Ok(ms));
    }
}
