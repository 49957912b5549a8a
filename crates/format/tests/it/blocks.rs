//! Blocks in memory: placing, slicing, joining, searching.

use bytes::Bytes;
use kelda_format::block::Block;
use kelda_format::fuzzing::CLUSTER;
use kelda_format::{ClusterId, Codec, Offset, StoredRecord, StreamId, Timestamp};

use crate::samples::{self, STREAM, TIME};

const ALL: u64 = u64::MAX;

fn slice(block: &Block, from: u64, until: u64, max_records: u64, max_bytes: u64) -> Option<Block> {
    block.slice(Offset(from), Offset(until), max_records, max_bytes)
}

#[test]
fn placing_copies_nothing_and_numbers_from_the_base() {
    let batch = samples::batch();
    let block = Block::place(&batch, STREAM, Offset(40), TIME);
    assert_eq!(block.body().as_ptr(), batch.body().as_ptr());
    assert_eq!(block.meta().as_ptr(), batch.meta().as_ptr());
    assert_eq!((block.base(), block.end(), block.count()), (Offset(40), Offset(43), 3));
    let records: Vec<StoredRecord> = block.records().collect();
    assert_eq!(records.iter().map(|record| record.offset.0).collect::<Vec<_>>(), [40, 41, 42]);
    assert!(records.iter().all(|record| record.timestamp == TIME));
    assert_eq!(records.into_iter().map(|record| record.record).collect::<Vec<_>>(), samples::record_list());
}

#[test]
fn a_slice_holds_exactly_what_was_asked_for() {
    let block = samples::block();
    let records: Vec<StoredRecord> = block.records().collect();
    for from in 0..=5u64 {
        for until in 0..=6u64 {
            let slice = slice(&block, 1000 + from, 1000 + until, ALL, ALL);
            let expected = records.get(from as usize..until.min(5) as usize).unwrap_or_default();
            match slice {
                None => assert!(expected.is_empty(), "{from}..{until}"),
                Some(slice) => {
                    assert_eq!(slice.records().collect::<Vec<_>>(), expected, "{from}..{until}");
                    let encoded = samples::encode_block(&slice, Codec::None).into();
                    assert_eq!(Block::decode(&encoded, 0, CLUSTER).unwrap().0, slice);
                    assert_eq!(block.bodies(Offset(1000 + from), Offset(1000 + until)), *slice.body());
                }
            }
        }
    }
}

#[test]
fn a_slice_is_bounded_but_never_empty_handed() {
    let block = samples::block();
    let count = |slice: Option<Block>| slice.map_or(0, |slice| slice.count());
    assert_eq!(count(slice(&block, 0, ALL, 2, ALL)), 2);
    assert_eq!(count(slice(&block, 0, ALL, 0, ALL)), 0);
    assert_eq!(count(slice(&block, 1001, ALL, ALL, 0)), 1);
    // "first" and "" are 5 bytes; the third record with its headers is larger than all the rest.
    assert_eq!(count(slice(&block, 0, ALL, ALL, 5)), 2);
    assert_eq!(count(slice(&block, 1002, ALL, ALL, 6)), 1);
    assert_eq!(count(slice(&block, 1003, ALL, ALL, 11)), 2);
    assert_eq!(count(slice(&block, 1003, ALL, ALL, 10)), 1);
    assert_eq!(slice(&block, 1005, ALL, ALL, ALL), None);
    assert_eq!(slice(&block, 0, 1000, ALL, ALL), None);
}

#[test]
fn the_whole_is_shared_with_its_summary_and_a_part_has_none() {
    let block = samples::block();
    let whole = slice(&block, 0, ALL, ALL, ALL).unwrap();
    assert_eq!((&whole, whole.body().as_ptr()), (&block, block.body().as_ptr()));
    let part = slice(&block, 1001, ALL, ALL, ALL).unwrap();
    assert_eq!(part.summary(), None);
    assert_eq!(part.body().as_ptr(), block.body()[5..].as_ptr());
}

#[test]
fn joining_needs_one_stream_without_gaps_in_time_order() {
    let place = |stream, base, time| {
        Block::place(&samples::single("x"), StreamId(stream), Offset(base), Timestamp(time))
    };
    let joined = Block::join(&[place(1, 5, 10), place(1, 6, 10), place(1, 7, 25)]).unwrap();
    assert_eq!((joined.base(), joined.end()), (Offset(5), Offset(8)));
    assert_eq!((joined.first_timestamp(), joined.last_timestamp()), (Timestamp(10), Timestamp(25)));
    assert_eq!(Block::join(&[]), None);
    assert_eq!(Block::join(&[place(1, 5, 10), place(2, 6, 10)]), None);
    assert_eq!(Block::join(&[place(1, 5, 10), place(1, 7, 10)]), None);
    assert_eq!(Block::join(&[place(1, 5, 10), place(1, 6, 9)]), None);
}

#[test]
fn times_are_found_within_a_block() {
    let block = samples::block();
    let find = |time: Timestamp| block.find_time(time).0;
    assert_eq!(find(Timestamp(0)), 1000);
    assert_eq!(find(TIME), 1000);
    assert_eq!(find(TIME.plus_ms(1)), 1003);
    assert_eq!(find(TIME.plus_ms(7)), 1003);
    assert_eq!(find(TIME.plus_ms(8)), 1004);
    assert_eq!(find(TIME.plus_ms(301)), 1005);
}

#[test]
fn blocks_decode_one_after_the_other() {
    let mut bytes = samples::encode_block(&samples::block(), Codec::None);
    let second = Block::place(&samples::single("sixth"), STREAM, Offset(1005), TIME.plus_ms(301));
    bytes.extend(samples::encode_block(&second, Codec::None));
    let bytes = Bytes::from(bytes);
    let (first, next) = Block::decode(&bytes, 0, CLUSTER).unwrap();
    assert_eq!((first, next % 8), (samples::block(), 0));
    assert_eq!(Block::decode(&bytes, next, CLUSTER), Ok((second, bytes.len())));
    assert!(Block::decode(&bytes, bytes.len(), CLUSTER).is_err());
    assert!(Block::decode(&bytes, usize::MAX, CLUSTER).is_err());
}

#[test]
fn the_block_of_another_cluster_is_refused() {
    let bytes = samples::encode_block(&samples::block(), Codec::None).into();
    let error = Block::decode(&bytes, 0, ClusterId([9; 16])).unwrap_err();
    assert!(error.to_string().contains("of another cluster"), "{error}");
}

#[test]
fn a_later_version_is_told_apart_from_damage() {
    let mut bytes = samples::segment_header().encode();
    bytes[8] = 2;
    let newer = kelda_format::wal::SegmentHeader::decode(&bytes).unwrap_err().newer.unwrap();
    assert_eq!((newer.found, newer.known), (2, 1));
}
