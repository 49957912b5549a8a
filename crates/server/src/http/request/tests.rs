//! What the fields of a request may say, and how they are refused.
#![allow(clippy::unwrap_used)]

use axum::http::HeaderValue;
use kelda_format::ids::Timestamp;
use kelda_service::{Expiry, Patch, Problem, ProducerId};

use super::*;

fn headers(fields: &[(&str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        let name = HeaderName::from_bytes(name.to_ascii_lowercase().as_bytes()).unwrap();
        headers.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
    }
    headers
}

#[test]
fn producers_are_whole_or_absent() {
    let get = |fields: &[(&str, &str)]| producer(&headers(fields));
    assert_eq!(get(&[]).unwrap(), None);
    let claim = get(&[("Producer-Id", "p"), ("Producer-Epoch", "1"), ("Producer-Seq", "9007199254740991")]);
    let claim = claim.unwrap().unwrap();
    assert_eq!((claim.id, claim.epoch, claim.seq), (ProducerId::new("p"), 1, 9_007_199_254_740_991));
    for fields in [
        &[("Producer-Id", "p")][..],
        &[("Producer-Epoch", "0")],
        &[("Producer-Seq", "0")],
        &[("Producer-Id", "p"), ("Producer-Epoch", "0")],
        &[("Producer-Epoch", "0"), ("Producer-Seq", "0")],
        &[("Producer-Id", "p"), ("Producer-Epoch", "0"), ("Producer-Seq", "1abc")],
        &[("Producer-Id", "p"), ("Producer-Epoch", "0xyz"), ("Producer-Seq", "0")],
        &[("Producer-Id", "p"), ("Producer-Epoch", "1e3"), ("Producer-Seq", "0")],
        &[("Producer-Id", "p"), ("Producer-Epoch", "-1"), ("Producer-Seq", "0")],
        &[("Producer-Id", "p"), ("Producer-Epoch", ""), ("Producer-Seq", "0")],
        &[("Producer-Id", "p"), ("Producer-Epoch", "9007199254740992"), ("Producer-Seq", "0")],
        &[("Producer-Id", "p"), ("Producer-Epoch", "0"), ("Producer-Seq", "99999999999999999999999")],
    ] {
        assert_eq!(get(fields).unwrap_err().problem(), Problem::InvalidProducer, "{fields:?}");
    }
    let twice =
        get(&[("Producer-Id", "p"), ("Producer-Id", "q"), ("Producer-Epoch", "0"), ("Producer-Seq", "0")]);
    assert_eq!(twice.unwrap_err().problem(), Problem::InvalidHeader);
}

#[test]
fn expiry_is_one_of_two_or_never() {
    let get = |fields: &[(&str, &str)]| expiry(&headers(fields));
    assert_eq!(get(&[]).unwrap(), Expiry::Never);
    assert_eq!(get(&[("Stream-TTL", "3600")]).unwrap(), Expiry::Sliding { ttl_ms: 3_600_000 });
    assert_eq!(get(&[("Stream-TTL", "0")]).unwrap(), Expiry::Sliding { ttl_ms: 0 });
    let at = Expiry::At(Timestamp(1_769_860_800_000));
    assert_eq!(get(&[("Stream-Expires-At", "2026-01-31T13:00:00+01:00")]).unwrap(), at);
    for value in ["", "abc", "-1", "+60", "00060", "00", "60.5", "1e3", " ", "60 s", "99999999999999999999"] {
        assert!(get(&[("Stream-TTL", value)]).is_err(), "{value:?}");
    }
    assert!(get(&[("Stream-Expires-At", "not-a-timestamp")]).is_err());
    assert!(get(&[("Stream-TTL", "1"), ("Stream-Expires-At", "2026-01-31T12:00:00Z")]).is_err());
}

#[test]
fn retention_is_set_kept_or_cleared() {
    let fields = [("Kelda-Max-Age", "7d"), ("Kelda-Max-Bytes", "1000")];
    let set = retention(&headers(&fields)).unwrap();
    assert_eq!((set.max_age_ms, set.max_bytes, set.segment_bytes), (Some(604_800_000), Some(1000), None));
    let fields = [("Kelda-Max-Age", "none"), ("Kelda-Segment-Bytes", "5")];
    let change = retention_patch(&headers(&fields)).unwrap();
    assert_eq!(
        (change.max_age_ms, change.max_bytes, change.segment_bytes),
        (Patch::Clear, Patch::Keep, Patch::Set(5))
    );
    for (name, value) in [
        ("Kelda-Max-Age", "7"),
        ("Kelda-Max-Age", "7D"),
        ("Kelda-Max-Age", "0s"),
        ("Kelda-Max-Age", "none"),
        ("Kelda-Max-Bytes", "0"),
        ("Kelda-Max-Bytes", "1KiB"),
        ("Kelda-Max-Bytes", "-1"),
        ("Kelda-Segment-Bytes", "9007199254740992"),
    ] {
        assert!(retention(&headers(&[(name, value)])).is_err(), "{name}: {value}");
    }
}

#[test]
fn closing_is_exactly_true() {
    for (value, meant) in
        [("true", true), ("TRUE", true), ("false", false), ("yes", false), ("1", false), ("", false)]
    {
        assert_eq!(closes(&headers(&[("Stream-Closed", value)])), meant, "{value}");
    }
    assert!(!closes(&HeaderMap::new()));
}

#[test]
fn values_are_visible_ascii_and_unambiguous() {
    let same = headers(&[("Kelda-If-Stream-Id", "5"), ("Kelda-If-Stream-Id", "5")]);
    assert_eq!(if_stream(&same).unwrap(), Some(StreamId(5)));
    assert!(if_stream(&headers(&[("Kelda-If-Stream-Id", "5"), ("Kelda-If-Stream-Id", "6")])).is_err());
    assert!(if_stream(&headers(&[("Kelda-If-Stream-Id", "-5")])).is_err());
    assert!(if_stream(&headers(&[("Kelda-If-Stream-Id", "é")])).is_err());
    assert_eq!(match_offset(&headers(&[("Kelda-Match-Offset", "00007")])).unwrap(), Some(Offset(7)));
    assert!(match_offset(&headers(&[("Kelda-Match-Offset", "now")])).is_err());
    assert!(trim_before(&headers(&[("Kelda-Trim-Before", "-1")])).is_err());
    assert_eq!(stream_seq(&headers(&[("Stream-Seq", "é")])).unwrap().as_deref(), Some("é".as_bytes()));
    assert!(stream_seq(&headers(&[("Stream-Seq", "a"), ("Stream-Seq", "b")])).is_err());
}
