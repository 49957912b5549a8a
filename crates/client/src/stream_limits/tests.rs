//! Spellings that every client has to agree on, and what is refused.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

fn spelled(seconds: u64) -> String {
    max_age_spelling(Duration::from_secs(seconds)).unwrap()
}

#[test]
fn the_largest_unit_that_holds_it_exactly() {
    for (seconds, text) in [
        (1, "1s"),
        (59, "59s"),
        (60, "1m"),
        (90, "90s"),
        (3_600, "1h"),
        (5_400, "90m"),
        (86_399, "86399s"),
        (86_400, "1D"),
        (90_000, "25h"),
        (7 * 86_400, "7D"),
        (30 * 86_400, "30D"),
        (365 * 86_400, "365D"),
        (36_500 * 86_400, "36500D"),
    ] {
        assert_eq!(spelled(seconds), text);
    }
}

#[test]
fn what_has_no_exact_spelling_is_refused_by_name() {
    for age in [
        Duration::ZERO,
        Duration::from_millis(1),
        Duration::from_millis(1_500),
        Duration::from_nanos(60_000_000_001),
        days(36_501),
        Duration::MAX,
    ] {
        let error = max_age_spelling(age).unwrap_err();
        assert!(matches!(&error, Error::Invalid { what: "max_age", .. }), "{error}");
        assert!(error.to_string().contains(&format!("{age:?}")), "{error}");
        assert!(StreamLimits::new().max_age(age).headers().is_err());
    }
}

proptest! {
    #[test]
    fn what_is_spelled_means_what_it_was(seconds in 1_u64..=MAX_AGE_SECONDS) {
        let text = spelled(seconds);
        let (number, unit) = text.split_at(text.len() - 1);
        let number: u64 = number.parse().unwrap();
        let at = UNITS.iter().position(|(name, _)| unit == name.to_string()).unwrap();
        prop_assert_eq!(number * UNITS[at].1, seconds);
        // No larger unit would have done.
        prop_assert!(UNITS[..at].iter().all(|(_, factor)| !seconds.is_multiple_of(*factor)));
    }
}

#[test]
fn what_is_absent_is_not_sent() {
    assert!(StreamLimits::new().headers().unwrap().is_empty());
    assert!(StreamLimits::new().is_unlimited() && StreamLimits::new().segment_bytes(1).is_unlimited());
    let all = StreamLimits::new()
        .max_age(days(7))
        .max_bytes(10)
        .segment_bytes(5)
        .content_type("text/plain")
        .ttl(hours(2));
    assert_eq!(all.max_age_text().unwrap().as_deref(), Some("7D"));
    let expected = [
        ("content-type", "text/plain"),
        ("stream-ttl", "7200"),
        ("kelda-max-age", "7d"),
        ("kelda-max-bytes", "10"),
        ("kelda-segment-bytes", "5"),
    ];
    assert_eq!(all.headers().unwrap(), expected.map(|(name, value)| (name, value.to_owned())));
}

#[test]
fn zero_is_no_limit_and_is_refused() {
    for (limits, what) in [
        (StreamLimits::new().max_bytes(0), "max_bytes"),
        (StreamLimits::new().segment_bytes(0), "segment_bytes"),
        (StreamLimits::new().ttl(Duration::ZERO), "ttl"),
        (StreamLimits::new().ttl(Duration::from_millis(10)), "ttl"),
    ] {
        assert!(
            matches!(limits.headers(), Err(Error::Invalid { what: found, .. }) if found == what),
            "{what}"
        );
    }
}

#[test]
fn a_raw_age_stays_as_it_is() {
    let limits = StreamLimits::new().max_age_raw("3600s");
    assert_eq!(limits.max_age_text().unwrap().as_deref(), Some("3600s"));
    assert_eq!(limits.headers().unwrap(), [("kelda-max-age", "3600s".to_owned())]);
}
