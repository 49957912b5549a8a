//! The rule of the limits: the table of the guide, and what holds for every stream.

use kelda_format::{ObjectId, StreamId};
use proptest::prelude::*;

use super::*;

/// Consecutive references of so many bytes and such a last time, ten records each.
fn refs(pieces: &[(u64, u64)]) -> Vec<ObjectRefRow> {
    let row = |(index, (bytes, time)): (u64, &(u64, u64))| ObjectRefRow {
        stream: StreamId(1),
        base: Offset(index * 10),
        end: Offset(index * 10 + 10),
        object: ObjectId(index + 1),
        source: StreamId(1),
        first_timestamp: Timestamp(*time),
        last_timestamp: Timestamp(*time),
        bytes: *bytes,
    };
    (0..).zip(pieces).map(row).collect()
}

fn total(refs: &[ObjectRefRow]) -> u64 {
    refs.iter().map(|row| row.bytes).sum()
}

fn go(pieces: &[(u64, u64)], limits: Limits, now: u64, more: bool) -> Option<u64> {
    let refs = refs(pieces);
    cut(&refs, total(&refs), &limits, Timestamp(now), more).map(|offset| offset.0 / 10)
}

fn bytes(pieces: &[u64]) -> Vec<(u64, u64)> {
    pieces.iter().map(|bytes| (*bytes, 1)).collect()
}

#[test]
fn the_table_of_the_guide() {
    let limits = Limits { max_age_ms: None, max_bytes: Some(1000), segment_bytes: 500 };
    for (pieces, expected) in [
        (&[500, 500][..], None),
        (&[500, 500, 200], None),
        (&[500, 500, 499], None),
        (&[500, 500, 500], Some(1)),
        (&[500, 500, 500, 500, 10], Some(2)),
        (&[100, 100, 100, 100, 100, 500, 500], Some(5)),
        (&[5000, 500, 500], Some(1)),
    ] {
        assert_eq!(go(&bytes(pieces), limits, 9, true), expected, "{pieces:?}");
    }
}

#[test]
fn age_counts_from_the_newest_record_of_a_segment() {
    let limits = Limits { max_age_ms: Some(100), max_bytes: None, segment_bytes: 20 };
    let pieces = [(10, 100), (10, 200), (10, 300), (10, 400), (10, 500)];
    assert_eq!(go(&pieces, limits, 300, true), None);
    assert_eq!(go(&pieces, limits, 301, true), Some(2));
    assert_eq!(go(&pieces, limits, 501, true), Some(4));
    assert_eq!(go(&pieces, limits, 10_000, true), Some(4), "the last segment is being written");
    assert_eq!(go(&pieces, limits, 10_000, false), Some(5), "nothing more came: it ended");
    assert_eq!(go(&pieces, limits, 600, false), Some(4), "its newest record is not too old");
}

#[test]
fn an_unknown_age_keeps() {
    let limits = Limits { max_age_ms: Some(1), max_bytes: None, segment_bytes: 1 };
    assert_eq!(go(&[(10, 0), (10, 0)], limits, u64::MAX, false), None);
    assert_eq!(go(&[(10, 5), (10, 0)], limits, u64::MAX, false), Some(1));
}

#[test]
fn of_both_limits_either_suffices() {
    let limits = Limits { max_age_ms: Some(100), max_bytes: Some(1000), segment_bytes: 500 };
    let old = [(500, 1), (500, 1000), (100, 1000)];
    assert_eq!(go(&old, limits, 1000, true), Some(1), "too old, though less than the bound is left");
    let large = [(500, 1000), (500, 1000), (500, 1000)];
    assert_eq!(go(&large, limits, 1000, true), Some(1), "more than the bound, though young");
}

#[test]
fn a_full_last_segment_is_not_being_written() {
    let limits = Limits { max_age_ms: Some(100), max_bytes: Some(1), segment_bytes: 500 };
    assert_eq!(go(&[(500, 1)], limits, 1000, true), Some(1), "by age");
    assert_eq!(go(&[(500, 950)], limits, 1000, true), None, "by bytes nothing would be left");
}

fn any_limits() -> impl Strategy<Value = Limits> {
    (proptest::option::of(1u64..2000), proptest::option::of(1u64..2000), 1u64..800)
        .prop_map(|(max_age_ms, max_bytes, segment_bytes)| Limits { max_age_ms, max_bytes, segment_bytes })
}

/// Pieces whose times do not go back.
fn any_pieces() -> impl Strategy<Value = Vec<(u64, u64)>> {
    proptest::collection::vec((1u64..600, 0u64..300), 0..40).prop_map(|pieces| {
        let mut time = 0;
        pieces
            .into_iter()
            .map(|(bytes, step)| {
                time += step;
                (bytes, time)
            })
            .collect()
    })
}

proptest! {
    #[test]
    fn what_goes_was_to_go(
        pieces in any_pieces(),
        limits in any_limits(),
        now in 0u64..20_000,
        more: bool,
    ) {
        let refs = refs(&pieces);
        let all = total(&refs);
        let Some(at) = cut(&refs, all, &limits, Timestamp(now), more) else { return Ok(()) };
        let kept: Vec<ObjectRefRow> = refs.iter().filter(|row| row.base >= at).copied().collect();
        let gone: Vec<ObjectRefRow> = refs.iter().filter(|row| row.end <= at).copied().collect();
        prop_assert_eq!(kept.len() + gone.len(), refs.len(), "references go whole");
        let newest = gone.last().expect("something goes").last_timestamp;
        let spare = limits.max_bytes.is_some_and(|max| total(&kept) >= max);
        prop_assert!(spare || limits.is_aged(newest, Timestamp(now)), "the last that goes was to go");
        // Whole segments: the bytes that go are those of groups, of which only an ended last one is smaller.
        let mut group = 0;
        for row in &gone {
            group = if group >= limits.segment_bytes { row.bytes } else { group + row.bytes };
        }
        prop_assert!(group >= limits.segment_bytes || (kept.is_empty() && !more));
        let again = cut(&kept, total(&kept), &limits, Timestamp(now), more);
        prop_assert_eq!(again, None, "a second look removes nothing more");
    }

    #[test]
    fn what_stays_had_to_stay(pieces in any_pieces(), limits in any_limits(), now in 0u64..20_000) {
        let refs = refs(&pieces);
        let all = total(&refs);
        let at = cut(&refs, all, &limits, Timestamp(now), true).unwrap_or_default();
        let kept: Vec<ObjectRefRow> = refs.iter().filter(|row| row.base >= at).copied().collect();
        let mut rows = kept.iter();
        let Some(oldest) = next_segment(&mut rows, limits.segment_bytes) else { return Ok(()) };
        let ended = rows.next().is_some() || oldest.bytes >= limits.segment_bytes;
        if let Some(max) = limits.max_bytes {
            prop_assert!(!ended || total(&kept) - oldest.bytes < max);
        }
        prop_assert!(!ended || !limits.is_aged(oldest.last, Timestamp(now)));
    }
}
