//! Objects: what the index says is where the blocks are, in both kinds.

use bytes::Bytes;
use kelda_format::block::Block;
use kelda_format::fuzzing::CONTEXT;
use kelda_format::limits::{EXTENT_GAP_BYTES, EXTENT_TARGET_BYTES};
use kelda_format::object::{
    Extent, FOOTER_BYTES, Footer, INDEX_EXTENT_MAX_BYTES, INDEX_FIXED_MAX_BYTES, INDEX_STREAM_MAX_BYTES,
    IndexBuilder, ObjectIndex, ObjectKind, ObjectSource, walk_blocks,
};
use kelda_format::{Codec, DecodeError, Offset, StreamId, Timestamp};

use crate::samples::{self, STREAM, TIME};

fn open(bytes: &Bytes) -> ObjectIndex {
    let tail = bytes.slice(bytes.len() - FOOTER_BYTES..);
    let footer = Footer::decode(&tail, bytes.len() as u64).unwrap();
    let start = footer.index_position as usize;
    ObjectIndex::decode(&bytes[start..start + footer.index_len as usize], &footer).unwrap()
}

fn read(bytes: &Bytes, index: &ObjectIndex, stream: StreamId) -> Vec<Block> {
    let mut blocks = Vec::new();
    for extent in index.extents(stream) {
        let from = extent.position as usize;
        let range = bytes.slice(from..from + extent.length as usize);
        let found: Result<Vec<Block>, DecodeError> = walk_blocks(&range, &index.source, stream).collect();
        let found = found.unwrap();
        assert_eq!(found.first().unwrap().base(), extent.base);
        assert_eq!(found.last().unwrap().end(), extent.end);
        assert!(found.windows(2).all(|pair| pair[0].end() == pair[1].base()));
        blocks.extend(found);
    }
    blocks
}

#[test]
fn both_kinds_give_back_their_blocks() {
    let segment = Bytes::from(samples::segment_object().0);
    for bytes in [segment, samples::packed_object(Codec::None).0, samples::packed_object(Codec::Zstd).0] {
        let index = open(&bytes);
        let blocks = read(&bytes, &index, STREAM);
        assert_eq!(blocks[0], samples::block());
        assert_eq!(blocks.last().unwrap().end(), Offset(1006));
        let other = read(&bytes, &index, StreamId(9));
        assert_eq!(other[0].records().next().unwrap().record.body, "of another stream");
        assert_eq!(index.extents(StreamId(10)), []);
        assert_eq!(
            index.records(),
            index.streams.iter().map(|s| s.extents.last().unwrap().end.0 - s.extents[0].base.0).sum()
        );
    }
    assert_eq!(samples::segment_object().1.source.kind(), ObjectKind::Segment);
    assert_eq!(samples::packed_object(Codec::None).1.source.kind(), ObjectKind::Packed);
}

#[test]
fn a_damaged_block_ends_the_walk_with_one_error() {
    let (mut bytes, index) = samples::segment_object();
    let extent = index.extents(STREAM)[0];
    bytes[extent.position as usize + 64] ^= 1;
    let from = extent.position as usize;
    let range = Bytes::from(bytes).slice(from..from + extent.length as usize);
    let found: Vec<_> = walk_blocks(&range, &index.source, STREAM).collect();
    assert!(found.last().unwrap().is_err());
    assert_eq!(found.iter().filter(|block| block.is_err()).count(), 1);
}

fn extent(base: u64, end: u64, time: u64, position: u64, length: u32) -> Extent {
    Extent {
        base: Offset(base),
        end: Offset(end),
        first_timestamp: Timestamp(time),
        last_timestamp: Timestamp(time + 5),
        position,
        length,
    }
}

fn build(extents: &[Extent]) -> Vec<Extent> {
    let mut builder = IndexBuilder::new();
    assert!(builder.is_empty());
    extents.iter().for_each(|extent| builder.add_range(STREAM, *extent));
    builder.finish(ObjectSource::Segment(CONTEXT)).extents(STREAM).to_vec()
}

#[test]
fn neighbours_are_joined_while_small_and_near() {
    let joined = build(&[extent(0, 1, 10, 80, 96), extent(1, 3, 20, 200, 96)]);
    let whole = Extent { last_timestamp: Timestamp(25), ..extent(0, 3, 10, 80, 216) };
    assert_eq!(joined, [whole]);
    let target = EXTENT_TARGET_BYTES as u32;
    assert_eq!(
        build(&[extent(0, 1, 10, 80, target - 96), extent(1, 2, 10, 80 + u64::from(target) - 96, 96)]).len(),
        1
    );
    assert_eq!(
        build(&[extent(0, 1, 10, 80, target - 88), extent(1, 2, 10, 80 + u64::from(target) - 88, 96)]).len(),
        2
    );
    assert_eq!(build(&[extent(0, 1, 10, 80, 96), extent(1, 2, 10, 176 + EXTENT_GAP_BYTES, 96)]).len(), 1);
    assert_eq!(build(&[extent(0, 1, 10, 80, 96), extent(1, 2, 10, 184 + EXTENT_GAP_BYTES, 96)]).len(), 2);
    assert_eq!(build(&[extent(0, 1, 10, 80, 96), extent(2, 3, 10, 176, 96)]).len(), 2, "a gap in offsets");
}

#[test]
#[should_panic(expected = "run backwards")]
fn offsets_that_run_backwards_are_a_bug() {
    build(&[extent(5, 6, 10, 80, 96), extent(5, 6, 10, 176, 96)]);
}

#[test]
fn offsets_and_times_are_found() {
    let far = EXTENT_GAP_BYTES + 96;
    let extents = [
        extent(10, 20, 100, 80, 96),
        extent(20, 30, 200, 80 + 2 * far, 96),
        extent(40, 41, 300, 80 + 4 * far, 96),
    ];
    let mut builder = IndexBuilder::new();
    extents.iter().for_each(|extent| builder.add_range(STREAM, *extent));
    let index = builder.finish(ObjectSource::Segment(CONTEXT));
    let find = |offset| index.find(STREAM, Offset(offset)).map(|extent| extent.base.0);
    assert_eq!(
        [9, 10, 19, 20, 29, 30, 39, 40, 41].map(find),
        [None, Some(10), Some(10), Some(20), Some(20), None, None, Some(40), None]
    );
    let find = |time| index.find_time(STREAM, Timestamp(time)).map(|extent| extent.base.0);
    assert_eq!(
        [0, 105, 106, 205, 300, 305, 306].map(find),
        [Some(10), Some(10), Some(20), Some(20), Some(40), Some(40), None]
    );
    assert_eq!(index.find(StreamId(1), Offset(10)), None);
    assert_eq!(index.records(), 21);
}

#[test]
fn a_trailer_is_never_longer_than_promised() {
    let top = u64::MAX - 1000;
    let mut builder = IndexBuilder::new();
    let gap = EXTENT_GAP_BYTES + 104;
    for (count, stream) in [1, top, top + 1].into_iter().enumerate() {
        for number in 0..=count as u64 {
            let position = (1u64 << 62) + number * gap;
            builder.add_range(
                StreamId(stream),
                extent(top + number * 2, top + number * 2 + 1, top, position, 96),
            );
        }
    }
    let index = builder.finish(ObjectSource::Segment(CONTEXT));
    let bound = INDEX_FIXED_MAX_BYTES + 3 * INDEX_STREAM_MAX_BYTES + 6 * INDEX_EXTENT_MAX_BYTES;
    let trailer = index.encode_trailer((1 << 62) + (1 << 20));
    assert!(trailer.len() as u64 <= bound, "{} of {bound}", trailer.len());
    let footer = Footer::decode(&trailer, (1 << 62) + (1 << 20) + trailer.len() as u64).unwrap();
    assert_eq!(ObjectIndex::decode(&trailer[..trailer.len() - FOOTER_BYTES], &footer), Ok(index));
}

#[test]
fn a_footer_must_fit_the_object() {
    let (bytes, _) = samples::segment_object();
    let length = bytes.len() as u64;
    assert!(Footer::decode(&bytes, length).is_ok());
    for wrong in [0, length - 8, length + 8] {
        assert!(Footer::decode(&bytes, wrong).is_err());
    }
    assert!(Footer::decode(&bytes[..FOOTER_BYTES - 1], length).is_err());
    let mut newer = bytes.clone();
    let version = bytes.len() - FOOTER_BYTES + 8;
    newer[version] = 3;
    assert!(Footer::decode(&newer, length).unwrap_err().newer.is_some());
}

#[test]
fn a_block_is_found_by_offset_and_time_end_to_end() {
    let bytes = Bytes::from(samples::segment_object().0);
    let index = open(&bytes);
    let extent = index.find(STREAM, Offset(1004)).unwrap();
    let from = extent.position as usize;
    let range = bytes.slice(from..from + extent.length as usize);
    let block = walk_blocks(&range, &index.source, STREAM)
        .find_map(|block| block.ok().filter(|block| block.end() > Offset(1004)))
        .unwrap();
    assert_eq!(block.records().find(|record| record.offset == Offset(1004)).unwrap().record.body, "fifth");
    assert_eq!(index.find_time(STREAM, TIME.plus_ms(8)).unwrap().base, Offset(1000));
}
