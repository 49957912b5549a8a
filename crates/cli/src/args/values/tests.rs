//! What is a place, a limit or a name, and what is not.
#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn starts() {
    assert_eq!(start("42"), Ok(StartAt::Offset(42)));
    assert_eq!(start("00000000000000000042"), Ok(StartAt::Offset(42)));
    for (text, at) in [
        ("first", StartAt::First),
        ("last", StartAt::Last),
        ("next", StartAt::Next),
        ("1h", StartAt::Back(Duration::from_secs(3_600))),
        ("2026-01-31T12:00:00Z", StartAt::Time(Timestamp(1_769_860_800_000))),
        ("2026-01-31T13:00:00+01:00", StartAt::Time(Timestamp(1_769_860_800_000))),
    ] {
        assert_eq!(start(text), Ok(at), "{text}");
    }
    for text in ["", "-1", "yesterday", "1.5h", "2026-01-31", "99999999999999999999999"] {
        assert!(start(text).unwrap_err().contains("such as 1h"), "{text}");
    }
}

#[test]
fn edges() {
    assert_eq!(edge("7"), Ok(Edge::Offset(7)));
    assert_eq!(edge("90m"), Ok(Edge::Ago(Duration::from_secs(5_400))));
    assert_eq!(edge("2026-01-31T12:00:00Z"), Ok(Edge::Time(Timestamp(1_769_860_800_000))));
    for text in ["first", "next", "", "soon"] {
        assert!(edge(text).is_err(), "{text}");
    }
}

#[test]
fn limits() {
    assert_eq!(bytes("10GiB"), Ok(10 << 30));
    assert_eq!(bytes_or_none("none"), Ok(Bound::None));
    assert_eq!(age_or_none("7d"), Ok(Bound::At("7d".to_owned())));
    assert!(bytes("0").is_err() && age("0s").is_err(), "a limit of nothing is none");
    assert!(bytes_or_none("10GB").unwrap_err().ends_with("; or none"));
}

#[test]
fn names() {
    assert_eq!(name("logs/api"), Ok("logs/api".to_owned()));
    for text in ["", "/a", "a//b", "a/../b", "a\nb"] {
        assert!(name(text).is_err(), "{text:?}");
    }
}
