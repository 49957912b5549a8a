//! The log cache against a plain list of records.

#![allow(clippy::unwrap_used)]

use bytes::Bytes;
use kelda_format::{Batch, Block, Offset, Record, StreamId, Timestamp};
use proptest::prelude::*;

use super::{FoundTime, LogCache};
use crate::types::ReadLimit;

const STREAM: StreamId = StreamId(5);
const START: u64 = 40;

fn block(base: u64, sizes: &[usize], time: u64) -> Block {
    let records: Vec<Record> = sizes
        .iter()
        .enumerate()
        .map(|(at, size)| Record::new(Bytes::from(vec![(base + at as u64) as u8; *size])))
        .collect();
    Block::place(&Batch::from_records(&records).unwrap(), STREAM, Offset(base), Timestamp(time))
}

/// A cache and the records in it as (time, size).
fn filled(blocks: &[(Vec<usize>, u64)]) -> (LogCache, Vec<(u64, usize)>) {
    let mut cache = LogCache::new(Offset(START));
    let (mut records, mut time) = (Vec::new(), 100);
    for (sizes, later) in blocks {
        time += later;
        cache.push(block(START + records.len() as u64, sizes, time));
        records.extend(sizes.iter().map(|size| (time, *size)));
    }
    (cache, records)
}

fn blocks() -> impl Strategy<Value = Vec<(Vec<usize>, u64)>> {
    prop::collection::vec((prop::collection::vec(0usize..50, 1..5), 0u64..3), 0..12)
}

proptest! {
    #[test]
    fn reads_give_what_was_pushed_and_was_not_evicted(
        blocks in blocks(), evict in 0u64..60, from in 0u64..60, max_bytes in 0u64..200,
        max_records in 0u64..20, until in prop::option::of(0u64..60),
    ) {
        let (mut cache, records) = filled(&blocks);
        let end = START + records.len() as u64;
        cache.evict_through(Offset(START + evict));
        // Whole blocks only: the start is the largest block boundary at or below what was to be evicted.
        let mut start = START;
        for (sizes, _) in &blocks {
            if start + sizes.len() as u64 <= START + evict {
                start += sizes.len() as u64;
            } else {
                break;
            }
        }
        let from = START + from - 10;
        let until = until.map(|until| Offset(START + until));
        let limit = ReadLimit { max_bytes, max_records, until };
        match cache.read(Offset(from), &limit) {
            None => prop_assert!(from < start, "{from} is not below {start}"),
            Some(found) => {
                prop_assert!(from >= start);
                let stop = until.map_or(end, |until| until.0.min(end));
                let wanted = stop.saturating_sub(from).min(max_records);
                let mut next = from;
                let mut bytes = 0;
                for record in found.iter().flat_map(Block::records) {
                    prop_assert_eq!(record.offset, Offset(next));
                    let (time, size) = records[(next - START) as usize];
                    prop_assert_eq!((record.timestamp.0, record.record.body.len()), (time, size));
                    bytes += size as u64;
                    next += 1;
                }
                let count = next - from;
                prop_assert!(count <= wanted);
                prop_assert!(count > 0 || wanted == 0, "at least one record when there is one");
                prop_assert!(count <= 1 || bytes <= max_bytes);
                if max_bytes >= 150 + 20 * 20 {
                    prop_assert_eq!(count, wanted);
                }
            }
        }
        let total = cache.bytes_from(Offset::ZERO);
        prop_assert_eq!(total == 0, start == end);
        prop_assert_eq!(cache.bytes_from(Offset(end)), 0);
        prop_assert!(cache.bytes_from(Offset(from)) <= total);
    }

    #[test]
    fn times_are_found_where_the_cache_can_tell(blocks in blocks(), evict in 0u64..40, time in 95u64..140) {
        let (mut cache, records) = filled(&blocks);
        let end = START + records.len() as u64;
        cache.evict_through(Offset(START + evict));
        let held = cache.read(Offset(end), &ReadLimit { max_bytes: 0, max_records: 0, until: None });
        prop_assert!(held.is_some(), "the tail is always in the cache");
        let first = records.iter().position(|(at, _)| *at >= time).map(|at| START + at as u64);
        match cache.find_time(Timestamp(time)) {
            FoundTime::At(found) => prop_assert_eq!(Some(found.0), first),
            FoundTime::None => prop_assert_eq!(first, None),
            FoundTime::AtOrBefore(found) => {
                // Nothing between what was asked and the answer, but maybe something before it.
                prop_assert!(first.is_none_or(|first| first <= found.0));
                prop_assert!(found.0 == end || records[(found.0 - START) as usize].0 >= time);
            }
        }
    }
}

#[test]
fn an_emptied_cache_gives_back_its_memory() {
    let mut cache = LogCache::new(Offset(START));
    for at in 0..100 {
        cache.push(block(START + at, &[10], 100));
    }
    cache.evict_through(Offset(START + 100));
    assert_eq!(cache.blocks.capacity(), 0);
    assert_eq!(cache.bytes_from(Offset::ZERO), 0);
    cache.push(block(START + 100, &[10], 100));
    assert!(cache.bytes_from(Offset::ZERO) > 0);
}

#[test]
#[should_panic(expected = "without gaps")]
fn a_gap_is_refused() {
    let mut cache = LogCache::new(Offset(START));
    cache.push(block(START + 1, &[10], 100));
}
