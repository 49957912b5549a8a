//! What a row says of a stream.
#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

#[test]
fn a_row_names_records_bytes_age_and_limits() {
    let stream = json!({
        "name": "logs/a b", "sealed": false, "start_offset": "00000000000000000010",
        "next_offset": "00000000000000001010", "bytes": 1_572_864, "oldest": "0", "newest": "86400000",
        "max_age": "7d", "max_bytes": 10_737_418_240_u64, "created": "0", "content_type": "text/plain",
    });
    let now = 86_400_000 + 120_000;
    assert_eq!(row(&stream, now, false), "      1000    1.5 MiB      1d      2m  7d,10 GiB       logs/a b");
    assert!(row(&stream, now, true).contains("10        1010  1970-01-01T00:00:00Z  text/plain"));
}

#[test]
fn streams_without_limit_are_marked_and_sealed_ones_are_not() {
    assert_eq!(limits(&json!({"sealed": false})), "unlimited");
    assert_eq!(limits(&json!({"sealed": true})), "sealed");
    assert_eq!(limits(&json!({"sealed": false, "ttl_seconds": 60})), "ttl=60s");
}

#[test]
fn heading_and_rows_are_in_line() {
    let at = |text: &str, word: &str| text.find(word).unwrap();
    let row = row(&json!({"name": "NAME", "sealed": true}), 0, true);
    assert_eq!(at(&heading(true), "NAME"), at(&row, "NAME"));
    assert_eq!(at(&heading(true), "LIMITS"), at(&row, "sealed"));
}

#[test]
fn sizes_and_ages_are_short() {
    for (bytes, text) in [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (u64::MAX, "16777215 TiB"),
        (5_905_580_032, "5.5 GiB"),
    ] {
        assert_eq!(size(bytes), text);
    }
    for (ms, text) in [(0, "0s"), (59_999, "59s"), (60_000, "1m"), (7_200_000, "2h"), (864_000_000, "10d")] {
        assert_eq!(age(ms, 0), text);
    }
}
