//! What a person sees of a record.
#![allow(clippy::unwrap_used)]

use bytes::Bytes;
use kelda_client::{Offset, Record};

use super::*;

fn stored(body: &'static [u8]) -> StoredRecord {
    let line = br#"{"headers":[{"name":"kind","value":"a"},{"name":"kind","value":"\u001b[2J"},{"name":"n","value":5}]}"#;
    let headers = kelda_server::http::json::decode_record(line).unwrap().headers;
    let record = Record { body: Bytes::from_static(body), headers, producer_timestamp: None };
    StoredRecord { offset: Offset(42), timestamp: kelda_client::Timestamp(1_769_860_800_250), record }
}

fn plain() -> Style {
    Style { colours: false, zone: TimeZone::fixed(jiff::tz::offset(2)) }
}

#[test]
fn offset_local_time_headers_and_the_body_indented() {
    assert_eq!(
        plain().record(&stored(b"one\ntwo\n")),
        "42  2026-01-31 14:00:00.250+02:00  kind=a  kind=\\u{1b}[2J  n=i64:\"5\"\n    one\n    two\n"
    );
    let json = plain().record(&stored(br#"{"b":[1],"a":{}}"#));
    let lines: Vec<_> = json.lines().skip(1).collect();
    assert_eq!(lines, ["    {", "      \"b\": [", "        1", "      ],", "      \"a\": {}", "    }"]);
}

#[test]
fn indenting_changes_only_space() {
    let json = " {\"a\\\"{,\": 1.50, \"b\":[ ], \"c\":[{},[1e999999, 12345678901234567890123]],\"a\":null}\n";
    let kept = |text: &str| text.replace([' ', '\n'], "");
    assert_eq!(kept(&indented(json)), kept(json));
    let lines: Vec<_> = indented("[{\"x\":\"a, b\"},2]").lines().map(str::to_owned).collect();
    assert_eq!(lines, ["[", "  {", "    \"x\": \"a, b\"", "  },", "  2", "]"]);
}

#[test]
fn nothing_reaches_the_terminal_that_moves_it() {
    let out = plain().record(&stored(b"\x1b]0;title\x07 \xc2\x9b"));
    assert!(!out.chars().any(|c| c.is_control() && c != '\n'), "{out:?}");
    assert!(plain().record(&stored(b"\xff\x00")).ends_with("    2 bytes: ff 00\n"));
}

#[test]
fn colours_only_when_asked_for() {
    let style = Style { colours: true, ..plain() };
    assert!(style.record(&stored(b"x")).starts_with("\u{1b}[1m42\u{1b}[0m"));
    assert!(!plain().record(&stored(b"x")).contains('\u{1b}'));
    assert!(!Style::new(false).colours, "never but on a terminal");
}
