//! Validation and comparison of configurations.
#![allow(clippy::unwrap_used)]

use kelda_format::rows::{EntryRow, EntryState, Expiry, Retention, StreamKind};
use kelda_format::{StreamId, StreamName, Timestamp};

use super::StreamConfig;

fn entry() -> EntryRow {
    EntryRow {
        name: StreamName::parse("a").unwrap(),
        stream: StreamId(1),
        kind: StreamKind::Stream,
        state: EntryState::Live,
        parent: None,
        content_type: "text/plain; charset=utf-8".to_owned(),
        expiry: Expiry::Sliding { ttl_ms: 3_600_000 },
        retention: Retention { max_age_ms: Some(86_400_000), max_bytes: None, segment_bytes: Some(500) },
        arguments: vec![("x-max-age".to_owned(), "1D".to_owned())],
        created: Timestamp(0),
        version: 1,
    }
}

fn fields(config: &StreamConfig) -> Vec<String> {
    config.differences(&entry()).into_iter().map(|difference| difference.field).collect()
}

#[test]
fn no_opinion_matches_everything() {
    assert!(fields(&StreamConfig::default()).is_empty());
}

#[test]
fn the_same_meaning_matches() {
    let config = StreamConfig {
        content_type: Some("TEXT/Plain".to_owned()),
        expiry: Some(Expiry::Sliding { ttl_ms: 3_600_000 }),
        retention: entry().retention,
        arguments: Some(entry().arguments),
        ..StreamConfig::default()
    };
    assert!(fields(&config).is_empty());
}

#[test]
fn every_field_that_differs_is_named_with_both_values() {
    let config = StreamConfig {
        kind: StreamKind::Queue,
        content_type: Some("application/json".to_owned()),
        expiry: Some(Expiry::At(Timestamp(1_700_000_000_000))),
        retention: Retention { max_age_ms: Some(90_000), max_bytes: Some(10), segment_bytes: Some(501) },
        arguments: Some(vec![("x-max-age".to_owned(), "24h".to_owned()), ("y".to_owned(), "1".to_owned())]),
    };
    let found: Vec<String> = config
        .differences(&entry())
        .into_iter()
        .map(|d| format!("{}: {} / {}", d.field, d.existing, d.requested))
        .collect();
    assert_eq!(
        found,
        [
            "kind: stream / queue",
            "content_type: text/plain; charset=utf-8 / application/json",
            "expiry: ttl 1h / at 2023-11-14T22:13:20Z",
            "max_age: 1d / 90s",
            "max_bytes: none / 10",
            "segment_bytes: 500 / 501",
            "arguments.x-max-age: 1D / 24h",
            "arguments.y: none / 1",
        ]
    );
    let none = StreamConfig { expiry: Some(Expiry::Never), ..StreamConfig::default() };
    assert_eq!(fields(&none), ["expiry"]);
}

#[test]
fn values_out_of_range_are_refused() {
    let base = StreamConfig::default;
    let retention = |max_age_ms, max_bytes, segment_bytes| StreamConfig {
        retention: Retention { max_age_ms, max_bytes, segment_bytes },
        ..base()
    };
    let content_type = |text: &str| StreamConfig { content_type: Some(text.to_owned()), ..base() };
    let many = vec![("a".to_owned(), String::new()); 65];
    let bad = [
        (content_type(""), "content_type"),
        (content_type("text"), "content_type"),
        (content_type("/plain"), "content_type"),
        (content_type("text/plain\r\nX: y"), "content_type"),
        (content_type(&format!("a/{}", "b".repeat(255))), "content_type"),
        (StreamConfig { expiry: Some(Expiry::Sliding { ttl_ms: 1 << 53 }), ..base() }, "ttl"),
        (retention(Some(0), None, None), "max_age"),
        (retention(None, Some(1 << 53), None), "max_bytes"),
        (retention(None, None, Some(0)), "segment_bytes"),
        (StreamConfig { arguments: Some(many), ..base() }, "arguments"),
        (StreamConfig { arguments: Some(vec![("k".to_owned(), "v".repeat(4097))]), ..base() }, "arguments"),
    ];
    for (config, field) in bad {
        assert_eq!(config.validate().unwrap_err().field, field, "{config:?}");
    }
    assert!(content_type("Application/JSON; charset=utf-8").validate().is_ok());
}
