//! Bytes that may never change: each sample is encoded in memory and compared with the file checked in, and the
//! file is decoded and compared with the sample. `KELDA_BLESS=1` writes the files instead.
//!
//! What a compressor makes is not pinned (a new version of it may do better), only that it is still read.

use std::path::PathBuf;

use kelda_format::backup::Manifest;
use kelda_format::block::Block;
use kelda_format::fuzzing::{CLUSTER, CONTEXT};
use kelda_format::object::{Footer, ObjectIndex};
use kelda_format::records::{self, Frame};
use kelda_format::wal::{Seal, SegmentHeader, Slot, decode_entry};
use kelda_format::{Codec, Headers, keys};

use crate::samples;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{name}.hex"))
}

pub fn blessing() -> bool {
    std::env::var_os("KELDA_BLESS").is_some_and(|value| value == "1")
}

fn to_hex(bytes: &[u8]) -> String {
    let line = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
    bytes.chunks(16).map(|bytes| line(bytes) + "\n").collect()
}

fn from_hex(text: &str) -> Vec<u8> {
    text.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

/// The bytes checked in under `name`; blesses `current` first when asked to.
fn golden(name: &str, current: &[u8]) -> Vec<u8> {
    if blessing() {
        std::fs::write(path(name), to_hex(current)).unwrap();
    }
    let text = std::fs::read_to_string(path(name))
        .unwrap_or_else(|error| panic!("{}: {error}; KELDA_BLESS=1 writes it", path(name).display()));
    from_hex(&text)
}

/// Compares `current` with what is checked in; returns the latter.
pub fn pinned(name: &str, current: &[u8]) -> Vec<u8> {
    let golden = golden(name, current);
    let differs = golden.iter().zip(current).position(|(a, b)| a != b);
    assert!(
        golden == current,
        "{name}: {} bytes checked in, {} encoded, first difference at {differs:?}. Stored data would no longer \
         be read or written alike: a changed layout needs a new version, not a new golden file",
        golden.len(),
        current.len(),
    );
    golden
}

#[test]
fn headers() {
    let headers = Headers::new(&samples::header_list()).unwrap();
    let bytes = pinned("headers", headers.encoded());
    assert_eq!(Headers::decode(bytes.into()).unwrap().iter().collect::<Vec<_>>(), samples::header_list());
}

#[test]
fn block() {
    let bytes = pinned("block", &samples::encode_block(&samples::block(), Codec::None));
    let length = bytes.len();
    assert_eq!(Block::decode(&bytes.into(), 0, CLUSTER), Ok((samples::block(), length)));
}

#[test]
fn compressed_blocks_are_still_read() {
    let block = samples::compressible_block();
    for (name, codec) in [("block-lz4", Codec::Lz4), ("block-zstd", Codec::Zstd)] {
        let bytes = golden(name, &samples::encode_block(&block, codec));
        assert!(bytes.len() < samples::encode_block(&block, Codec::None).len());
        let length = bytes.len();
        assert_eq!(Block::decode(&bytes.into(), 0, CLUSTER), Ok((block.clone(), length)));
    }
}

#[test]
fn wal_segment_header() {
    let bytes = pinned("wal-segment-header", &samples::segment_header().encode());
    assert_eq!(SegmentHeader::decode(&bytes), Ok(samples::segment_header()));
}

#[test]
fn wal_entry() {
    let bytes = pinned("wal-entry", &samples::entry(34, 33, 0, &samples::sections()));
    let length = bytes.len();
    let (entry, next) = decode_entry(&bytes.into(), 0, &CONTEXT).unwrap();
    assert_eq!((entry.sections, next), (samples::sections(), length));
    assert_eq!((entry.header.group, entry.header.synced_group, entry.header.in_group), (34, 33, 0));
}

#[test]
fn wal_synced_mark() {
    let bytes = pinned("wal-synced-mark", &samples::entry(36, 35, 64, &[]));
    let (entry, next) = decode_entry(&bytes.into(), 0, &CONTEXT).unwrap();
    assert_eq!((entry.sections.len(), entry.header.in_group, next), (0, 64, 64));
}

#[test]
fn wal_slot() {
    let slot = Slot::decode(&pinned("wal-slot", &samples::slot()).into()).unwrap();
    assert_eq!(slot.header, samples::slot_header());
    let entries: Vec<_> = slot.entries.into_iter().map(|entry| entry.sections).collect();
    assert_eq!(entries, samples::slot_entries());
}

#[test]
fn wal_seal() {
    let bytes = pinned("wal-seal", &samples::seal().encode());
    assert_eq!(Seal::decode(&bytes), Ok(samples::seal()));
}

#[test]
fn objects() {
    let (segment, segment_index) = samples::segment_object();
    let (packed, packed_index) = samples::packed_object(Codec::None);
    let (summarised, summarised_index) = samples::summarised_object();
    for (name, current, index) in [
        ("object-segment-2", &segment[..], segment_index),
        ("object-packed-2", &packed[..], packed_index),
        ("object-summarised", &summarised[..], summarised_index),
    ] {
        let bytes = pinned(name, current);
        let footer = Footer::decode(&bytes, bytes.len() as u64).unwrap();
        let start = footer.index_position as usize;
        let end = start + footer.index_len as usize;
        assert_eq!(ObjectIndex::decode(&bytes[start..end], &footer), Ok(index));
    }
}

/// Objects had no summaries once.
#[test]
fn objects_without_summaries_are_still_read() {
    for (name, index) in [
        ("object-segment", samples::segment_object().1),
        ("object-packed", samples::packed_object(Codec::None).1),
    ] {
        let text = std::fs::read_to_string(path(name)).unwrap();
        let bytes = from_hex(&text);
        let footer = Footer::decode(&bytes, bytes.len() as u64).unwrap();
        let start = footer.index_position as usize;
        let found = ObjectIndex::decode(&bytes[start..start + footer.index_len as usize], &footer).unwrap();
        assert_eq!(found, index.without_summaries(), "{name}");
    }
}

#[test]
fn cluster_marker() {
    let bytes = pinned("cluster-marker", &keys::encode_marker(CLUSTER));
    assert_eq!(keys::decode_marker(&bytes), Ok(CLUSTER));
}

#[test]
fn backup_marker() {
    let bytes = pinned("backup-marker", &keys::encode_backup_marker(CLUSTER));
    assert_eq!(keys::decode_backup_marker(&bytes), Ok(CLUSTER));
    // One is never taken for the other.
    assert!(keys::decode_marker(&bytes).unwrap_err().to_string().contains("backups are kept here"));
    let node = keys::decode_backup_marker(&keys::encode_marker(CLUSTER)).unwrap_err();
    assert!(node.to_string().contains("a node keeps its objects here"), "{node}");
}

#[test]
fn backup_manifest() {
    let bytes = pinned("backup-manifest", &samples::manifest().encode(CLUSTER));
    assert_eq!(Manifest::decode(&bytes), Ok((CLUSTER, samples::manifest())));
}

#[test]
fn records_of_a_read() {
    let bytes = pinned("records-read", &samples::read_frames()).into();
    let (first, next) = Frame::decode(&bytes, 0).unwrap().unwrap();
    let (second, end) = Frame::decode(&bytes, next).unwrap().unwrap();
    let records: Vec<_> = first.records().chain(second.records()).collect();
    assert_eq!(records[..5], samples::block().records().collect::<Vec<_>>());
    assert_eq!((records.len(), end), (6, bytes.len()));
}

#[test]
fn records_of_a_write() {
    let bytes = pinned("records-write", &samples::write_frame());
    assert_eq!(records::decode_write(&bytes.into()), Ok(samples::batch()));
    let bytes = pinned("records-write-without-checksums", &samples::write_frame_without_checksums());
    assert_eq!(records::decode_write(&bytes.into()), Ok(samples::batch()));
}
