//! Which texts are times, and that both directions agree.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

#[test]
fn rfc_3339_is_read() {
    for (text, ms) in [
        ("1970-01-01T00:00:00Z", 0),
        ("2026-01-31T12:00:00Z", 1_769_860_800_000),
        ("2026-01-31T12:00:00.25Z", 1_769_860_800_250),
        ("2026-01-31T12:00:00.250999Z", 1_769_860_800_250),
        ("2026-01-31T13:00:00+01:00", 1_769_860_800_000),
        ("2026-01-31T13:00:00 01:00", 1_769_860_800_000),
        ("2026-01-31t12:00:00z", 1_769_860_800_000),
    ] {
        assert_eq!(parse(text), Ok(Timestamp(ms)), "{text}");
    }
}

#[test]
fn everything_else_is_refused() {
    for text in [
        "",
        "now",
        "not-a-timestamp",
        "2026-01-31",
        "2026-01-31T12:00Z",
        "2026-01-31T12:00:00",
        "20260131T120000Z",
        "2026-02-30T12:00:00Z",
        "2026-01-31T25:00:00Z",
        "2026-01-31T12:00:00Z[UTC]",
        "1738324800",
        "-1",
        "1969-12-31T23:59:59Z",
        "99999-01-01T00:00:00Z",
        "2026-01-31T12:00:00+99:00",
    ] {
        assert!(parse(text).is_err(), "{text:?}");
    }
}

#[test]
fn written_with_milliseconds() {
    assert_eq!(format(Timestamp(1_769_860_800_250)), "2026-01-31T12:00:00.250Z");
    assert_eq!(format(Timestamp(0)), "1970-01-01T00:00:00.000Z");
    assert!(format(Timestamp(u64::MAX)).starts_with("9999-"), "a time beyond the calendar is its end");
}

proptest! {
    #[test]
    fn what_is_written_reads_back(ms in 0u64..253_000_000_000_000) {
        prop_assert_eq!(parse(&format(Timestamp(ms))), Ok(Timestamp(ms)));
    }
}
