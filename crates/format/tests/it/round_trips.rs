//! What is encoded decodes to what it was, for random values.

use bytes::Bytes;
use kelda_format::block::Block;
use kelda_format::fuzzing::{self, CLUSTER, CONTEXT};
use kelda_format::object::{Footer, ObjectIndex, PackedWriter, walk_blocks};
use kelda_format::records::{self, Frame};
use kelda_format::wal::{Grouping, decode_entry, encode_entry, entry_len};
use kelda_format::{Headers, Offset, StoredRecord};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::strategies::{batch, block, bytes, codec, header_list, section};

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn headers(list in header_list()) {
        let headers = Headers::new(&list).unwrap();
        let decoded = Headers::decode(headers.encoded().clone()).unwrap();
        // Compared as bytes: a NaN is kept bit for bit, but is not equal to itself.
        let again: Vec<_> = decoded.iter().collect();
        prop_assert_eq!(Headers::new(&again).unwrap(), headers);
        prop_assert_eq!(again.len(), list.len());
    }

    #[test]
    fn blocks(block in block(), codec in codec(), before in bytes(20)) {
        let mut out = before.to_vec();
        let length = block.encode_into(&mut out, CLUSTER, codec);
        prop_assert_eq!(length % 8, 0);
        let total = out.len();
        prop_assert_eq!(Block::decode(&out.into(), before.len(), CLUSTER), Ok((block, total)));
    }

    #[test]
    fn slices(block in block(), from in 0..30u64, until in 0..30u64, records in 0..20u64, bytes in 0..400u64) {
        let all: Vec<StoredRecord> = block.records().collect();
        let (from, until) = (Offset(block.base().0 + from), Offset(block.base().0 + until));
        let mut expected = Vec::new();
        let mut taken = 0;
        for record in all {
            let inside = record.offset >= from && record.offset < until;
            if inside && (expected.len() as u64) < records {
                taken += record.record.byte_len();
                if !expected.is_empty() && taken > bytes {
                    break;
                }
                expected.push(record);
            }
        }
        let slice = block.slice(from, until, records, bytes);
        let found: Vec<StoredRecord> = slice.iter().flat_map(Block::records).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn wal_entries(sections in vec(section(), 0..5), group in 1..u64::MAX, gap in 0..3u64, in_group in 0..1000u64) {
        let place = Grouping { group, synced_group: group.saturating_sub(gap), in_group: in_group * 8 };
        let parts = encode_entry(&CONTEXT, place, &sections);
        let bytes = Bytes::from(parts.bufs.concat());
        prop_assert_eq!((bytes.len() as u64, entry_len(&sections)), (parts.len, parts.len));
        let (entry, next) = decode_entry(&bytes, 0, &CONTEXT).unwrap();
        prop_assert_eq!(entry.sections, sections);
        let header = entry.header;
        prop_assert_eq!((header.group, header.synced_group, header.in_group), (group, place.synced_group, place.in_group));
        prop_assert_eq!(next, bytes.len());
    }

    #[test]
    fn packed_objects(mut blocks in vec(block(), 1..6), codec in codec()) {
        blocks.sort_by_key(|block| (block.stream(), block.base()));
        blocks.dedup_by_key(|block| block.stream());
        let mut writer = PackedWriter::new(CLUSTER, codec);
        blocks.iter().for_each(|block| writer.push(block));
        let (bytes, index) = writer.finish();
        let footer = Footer::decode(&bytes, bytes.len() as u64).unwrap();
        let start = footer.index_position as usize;
        let end = start + footer.index_len as usize;
        prop_assert_eq!(&ObjectIndex::decode(&bytes[start..end], &footer).unwrap(), &index);
        for block in &blocks {
            let extent = index.find(block.stream(), block.base()).unwrap();
            let from = extent.position as usize;
            let range = bytes.slice(from..from + extent.length as usize);
            let found: Result<Vec<_>, _> = walk_blocks(&range, &index.source, block.stream()).collect();
            prop_assert_eq!(found.unwrap(), vec![block.clone()]);
        }
    }

    #[test]
    fn frames(blocks in vec(block(), 0..4), batch in batch()) {
        let bytes = Bytes::from(blocks.iter().flat_map(records::encode_read).flatten().collect::<Vec<u8>>());
        let mut at = 0;
        for block in &blocks {
            let (frame, next) = Frame::decode(&bytes, at).unwrap().unwrap();
            prop_assert_eq!(frame.records().collect::<Vec<_>>(), block.records().collect::<Vec<_>>());
            at = next;
        }
        prop_assert_eq!(at, bytes.len());
        prop_assert_eq!(records::decode_write(&records::encode_write(&batch).concat().into()), Ok(batch));
    }

    /// A little of what the fuzzers do: samples with bytes changed, checksums repaired, no panic.
    #[test]
    fn changed_samples(edits in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let edited = |mut bytes: Vec<u8>| {
            for (index, value) in &edits {
                let at = index.index(bytes.len());
                bytes[at] = *value;
            }
            bytes
        };
        fuzzing::block(&edited(crate::samples::encode_block(&crate::samples::block(), kelda_format::Codec::None)));
        fuzzing::block(&edited(crate::samples::encode_block(&crate::samples::compressible_block(), kelda_format::Codec::Zstd)));
        fuzzing::wal_entry(&edited(crate::samples::entry(34, 33, 0, &crate::samples::sections())));
        fuzzing::wal_segment(&edited(crate::samples::segment().0));
        fuzzing::object(&edited(crate::samples::segment_object().0));
        fuzzing::object(&edited(crate::samples::summarised_object().0.to_vec()));
        fuzzing::records_read(&edited(crate::samples::read_frames()));
        fuzzing::records_write(&edited(crate::samples::write_frame()));
        fuzzing::headers(&edited(Headers::new(&crate::samples::header_list()).unwrap().encoded().to_vec()));
    }
}
