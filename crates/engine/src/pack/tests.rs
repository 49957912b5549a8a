//! Tests of packing: every record is where its stream and offset say, once.

#![allow(clippy::unwrap_used)]

use bytes::Bytes;
use kelda_format::object::{Footer, ObjectIndex, walk_blocks};
use kelda_format::{Batch, Block, Codec, Offset, StreamId, Timestamp};

use super::{JOINED_BYTES, pack, share};
use crate::held::CLUSTER;

fn block(stream: u64, base: u64, len: usize) -> Block {
    let batch = Batch::single(Bytes::from(vec![b'x'; len])).unwrap();
    Block::place(&batch, StreamId(stream), Offset(base), Timestamp(base))
}

#[test]
fn a_stream_with_much_has_an_object_of_its_own() {
    let streams = [(StreamId(1), 5), (StreamId(2), 100), (StreamId(3), 99), (StreamId(4), 200)];
    let objects = share(streams, 100);
    assert_eq!(objects, [vec![StreamId(2)], vec![StreamId(4)], vec![StreamId(1), StreamId(3)]]);
    assert!(share([], 1).is_empty());
}

#[test]
fn small_blocks_are_joined_and_nothing_is_lost() {
    let mut first: Vec<Block> = (0..3000).map(|base| block(1, base, 10)).collect();
    first.push(block(1, 3000, 100_000));
    first.push(block(1, 3001, 10));
    let second = [block(2, 70, 20)];
    let packed = pack(CLUSTER, Codec::None, [(StreamId(1), &first[..]), (StreamId(2), &second[..])]);
    let footer = Footer::decode(&packed.body, packed.body.len() as u64).unwrap();
    let start = usize::try_from(footer.index_position).unwrap();
    let index = &packed.body[start..start + footer.index_len as usize];
    let index = ObjectIndex::decode(index, &footer).unwrap();
    let mut records = 0;
    let mut blocks = 0;
    for extent in index.extents(StreamId(1)) {
        let from = usize::try_from(extent.position).unwrap();
        let range = packed.body.slice(from..from + extent.length as usize);
        for block in walk_blocks(&range, &index.source, StreamId(1)) {
            let block = block.unwrap();
            blocks += 1;
            for stored in block.records() {
                assert_eq!((stored.offset, stored.timestamp), (Offset(records), Timestamp(records)));
                records += 1;
            }
        }
    }
    assert_eq!(records, 3002);
    assert!(blocks < 10, "{blocks} blocks of up to {JOINED_BYTES} bytes");
    assert_eq!(index.extents(StreamId(2))[0].base, Offset(70));
    let taken: u64 = packed.streams.iter().map(|(_, bytes)| bytes).sum();
    assert!(taken <= packed.body.len() as u64);
}
