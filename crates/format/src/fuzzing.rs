//! One body per decoder that reads bytes from outside, for fuzzers and for the tests that run their corpus.
//! Owns the properties (no panic, and what decodes encodes to what it was); guarantees that a body is a pure
//! function of its input; never used outside of tests.
//!
//! Random bytes do not pass a checksum, so each body tries the input as it is and once more with its checksums
//! repaired: limits and structure have to hold against a writer that means harm.

mod metadata;
mod repair;

pub use metadata::{meta_command, meta_log_entry, meta_snapshot};

use bytes::Bytes;

use crate::backup::Manifest;
use crate::batch::Batch;
use crate::block::Block;
use crate::codec::Codec;
use crate::header::{Header, Headers};
use crate::ids::{ClusterId, NodeId, Offset, SessionEpoch, SessionId, StreamId, Timestamp};
use crate::keys;
use crate::name::StreamName;
use crate::object::{self, FOOTER_BYTES, Footer, ObjectIndex};
use crate::record::StoredRecord;
use crate::records::{self, Frame};
use crate::wal::{
    EntryContext, Grouping, SEGMENT_HEADER_BYTES, Seal, SegmentHeader, Slot, decode_entry, encode_entry,
    find_valid_after,
};
use crate::wire::Wire;

/// The cluster that inputs belong to.
pub const CLUSTER: ClusterId = ClusterId(*b"fuzzed cluster!!");

/// The context that entries belong to.
pub const CONTEXT: EntryContext = EntryContext {
    cluster: CLUSTER,
    session: SessionId { node: NodeId(7), epoch: SessionEpoch(3) },
    salt: 0x5a17_5a17_5a17_5a17,
};

/// Stream names, as text and encoded.
pub fn name(input: &[u8]) {
    if let Ok(text) = std::str::from_utf8(input)
        && let Ok(name) = StreamName::parse(text)
    {
        assert_eq!(name.as_str(), text);
        assert_eq!(StreamName::decode_all(&name.encoded(), "name"), Ok(name));
    }
    if let Ok(name) = StreamName::decode_all(input, "name") {
        assert_eq!(name.encoded(), input);
    }
}

/// Header lists.
pub fn headers(input: &[u8]) {
    if let Ok(headers) = Headers::decode(Bytes::copy_from_slice(input)) {
        let list: Vec<Header> = headers.iter().collect();
        let again = Headers::new(&list).expect("what decodes is within the limits");
        assert_eq!(again.encoded(), input);
    }
}

/// Decompression: the codec, the announced length (3 bytes), what was stored.
pub fn codec(input: &[u8]) {
    let [codec, a, b, c, stored @ ..] = input else { return };
    let Ok(codec) = Codec::from_byte(codec % 3) else { return };
    let announced = u32::from_le_bytes([*a, *b, *c, 0]) as usize;
    if let Ok(raw) = codec.decompress(stored, announced) {
        assert_eq!(raw.len(), announced);
    }
}

/// Blocks.
pub fn block(input: &[u8]) {
    for bytes in [input.to_vec(), repair::block(input)] {
        let length = bytes.len();
        if let Ok((block, next)) = Block::decode(&bytes.into(), 0, CLUSTER) {
            assert!(next <= length);
            check_block(&block);
        }
    }
}

fn check_block(block: &Block) {
    let records: Vec<StoredRecord> = block.records().collect();
    check_records(&records, block.base(), block.count());
    assert_eq!(records.last().map(|record| record.timestamp), Some(block.last_timestamp()));
    let mut encoded = Vec::new();
    block.encode_into(&mut encoded, CLUSTER, Codec::None);
    let (again, next) = Block::decode(&encoded.clone().into(), 0, CLUSTER).expect("what was encoded decodes");
    assert_eq!((&again, next), (block, encoded.len()));
    let middle = block.base().plus(u64::from(block.count() / 2));
    let slice = block.slice(middle, block.end(), u64::MAX, u64::MAX).expect("the middle is inside");
    assert_eq!(slice.records().next(), records.get((block.count() / 2) as usize).cloned());
    assert_eq!(block.bodies(middle, block.end()), *slice.body());
    let found = block.find_time(block.last_timestamp());
    assert!(found < block.end());
}

fn check_records(records: &[StoredRecord], base: Offset, count: u32) {
    assert_eq!(records.len(), count as usize, "what was verified walks to its end");
    for (index, record) in (0..).zip(records) {
        assert_eq!(record.offset, base.plus(index));
        assert!(record.timestamp >= records[0].timestamp);
        record.record.headers.iter().for_each(drop);
    }
}

/// One WAL entry.
pub fn wal_entry(input: &[u8]) {
    for bytes in [input.to_vec(), repair::entry(input)] {
        let bytes = Bytes::from(bytes);
        if let Ok((entry, next)) = decode_entry(&bytes, 0, &CONTEXT) {
            let grouping = Grouping {
                group: entry.header.group,
                synced_group: entry.header.synced_group,
                in_group: entry.header.in_group,
            };
            let again = encode_entry(&CONTEXT, grouping, &entry.sections);
            let joined = Bytes::from(again.bufs.concat());
            assert_eq!(joined.len() as u64, again.len);
            let (decoded, end) = decode_entry(&joined, 0, &CONTEXT).expect("what was encoded decodes");
            assert_eq!((decoded.sections, end), (entry.sections, joined.len()));
            assert!(next <= bytes.len());
        }
    }
}

/// A WAL segment: its header, its entries, and the search behind the first bad one.
pub fn wal_segment(input: &[u8]) {
    if let Ok(header) = SegmentHeader::decode(input) {
        assert!(input.starts_with(&header.encode()));
    }
    for bytes in [input.to_vec(), repair::segment(input)] {
        let bytes = Bytes::from(bytes);
        let mut at = SEGMENT_HEADER_BYTES;
        while let Ok((_, next)) = decode_entry(&bytes, at, &CONTEXT) {
            assert!(next > at);
            at = next;
        }
        if let Some((found, header)) = find_valid_after(&bytes, at, &CONTEXT) {
            assert!(found > at && header.group_start(found) > at);
        }
    }
}

/// What lies in the object store under the key of a WAL slot: a slot or a seal.
pub fn wal_slot(input: &[u8]) {
    for bytes in [input.to_vec(), repair::slot(input)] {
        let bytes = Bytes::from(bytes);
        if let Ok(seal) = Seal::decode(&bytes) {
            assert!(Seal::is_one(&bytes) && !Slot::is_one(&bytes));
            assert_eq!(seal.encode(), *bytes);
        }
        if let Ok(slot) = Slot::decode(&bytes) {
            assert!(Slot::is_one(&bytes) && !Seal::is_one(&bytes));
            let again = slot.header.encode_slot(slot.entries.iter().map(|entry| &entry.sections[..]));
            assert_eq!(Slot::decode(&again), Ok(slot));
        }
    }
}

/// Whole objects of both kinds: footer, index, and every extent.
pub fn object(input: &[u8]) {
    let _ = object::decode_object_header(input);
    for bytes in [input.to_vec(), repair::object(input)] {
        let bytes = Bytes::from(bytes);
        let Ok(footer) = Footer::decode(&bytes, bytes.len() as u64) else { continue };
        let start = footer.index_position as usize;
        let index_bytes = &bytes[start..start + footer.index_len as usize];
        let Ok(index) = ObjectIndex::decode(index_bytes, &footer) else { continue };
        assert_eq!(index.encode_trailer(footer.index_position), bytes[start..]);
        for entry in &index.streams {
            for extent in &entry.extents {
                assert_eq!(index.find(entry.stream, extent.base), Some(extent));
                let from = extent.position as usize;
                let range = bytes.slice(from..from + extent.length as usize);
                for block in object::walk_blocks(&range, &index.source, entry.stream).flatten() {
                    assert_eq!(block.stream(), entry.stream);
                }
            }
        }
        let _ = index.find_time(StreamId(1), Timestamp(1));
    }
}

/// An object's index alone, behind a footer that fits it.
pub fn object_index(input: &[u8]) {
    for summarised in [false, true] {
        let footer = repair::footer_for(input, summarised);
        if let Ok(index) = ObjectIndex::decode(input, &footer) {
            let trailer = index.encode_trailer(footer.index_position);
            assert_eq!(trailer[..trailer.len() - FOOTER_BYTES], *input);
        }
    }
}

/// The manifest of a backup.
pub fn backup_manifest(input: &[u8]) {
    for bytes in [input.to_vec(), repair::manifest(input)] {
        if let Ok((cluster, manifest)) = Manifest::decode(&bytes) {
            assert_eq!(manifest.encode(cluster), bytes);
        }
    }
}

/// The marker objects.
pub fn marker(input: &[u8]) {
    if let Ok(cluster) = keys::decode_marker(input) {
        assert_eq!(keys::encode_marker(cluster), input);
    }
    if let Ok(cluster) = keys::decode_backup_marker(input) {
        assert_eq!(keys::encode_backup_marker(cluster), input);
    }
    if let Ok(text) = std::str::from_utf8(input)
        && let Some(object) = keys::parse_data_key(CLUSTER, text)
    {
        assert_eq!(keys::data_key(CLUSTER, object), text);
    }
}

/// What a reader of `application/vnd.kelda.records` gets.
pub fn records_read(input: &[u8]) {
    for bytes in [input.to_vec(), repair::frame(input)] {
        let bytes = Bytes::from(bytes);
        let mut at = 0;
        while let Ok(Some((frame, next))) = Frame::decode(&bytes, at) {
            assert!(next > at);
            let records: Vec<StoredRecord> = frame.records().collect();
            check_records(
                &records,
                frame.base(),
                u32::try_from(records.len()).expect("bounded by the limits"),
            );
            assert_eq!(frame.end().since(frame.base()), records.len() as u64);
            at = next;
        }
    }
}

/// What a writer of `application/vnd.kelda.records` sends.
pub fn records_write(input: &[u8]) {
    for bytes in [input.to_vec(), repair::frame(input)] {
        let bytes = Bytes::from(bytes);
        if let Ok(batch) = records::decode_write(&bytes) {
            let list: Vec<_> = batch.records().collect();
            assert_eq!(list.len(), batch.count() as usize);
            let again = Batch::from_records(&list).expect("what decodes is within the limits");
            assert_eq!(again, batch);
            assert_eq!(records::decode_write(&records::encode_write(&batch).concat().into()), Ok(batch));
        }
    }
}
