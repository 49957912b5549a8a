//! Every single flipped bit is noticed, or changes nothing of what is read.

use bytes::Bytes;
use kelda_format::backup::Manifest;
use kelda_format::block::Block;
use kelda_format::fuzzing::{CLUSTER, CONTEXT};
use kelda_format::object::{Footer, ObjectIndex, decode_object_header, encode_object_header, walk_blocks};
use kelda_format::records::{self, Frame};
use kelda_format::wal::{Seal, SegmentHeader, Slot, decode_entry};
use kelda_format::{Codec, DecodeError, keys};

use crate::samples;

/// Decodes `bytes` with every bit flipped in turn, and cut short at every length.
pub fn flip_and_cut<T: PartialEq + std::fmt::Debug>(bytes: &[u8], decode: impl Fn(Bytes) -> Option<T>) {
    let whole = decode(Bytes::copy_from_slice(bytes)).expect("the sample decodes");
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        if let Some(value) = decode(flipped.into()) {
            assert_eq!(value, whole, "flipped bit {} of byte {} went unnoticed", bit % 8, bit / 8);
        }
    }
    for length in 0..bytes.len() {
        if let Some(value) = decode(Bytes::copy_from_slice(&bytes[..length])) {
            assert_eq!(value, whole, "cut to {length} of {} bytes went unnoticed", bytes.len());
        }
    }
}

#[test]
fn blocks() {
    flip_and_cut(&samples::encode_block(&samples::block(), Codec::None), |bytes| {
        Block::decode(&bytes, 0, CLUSTER).ok()
    });
}

#[test]
fn compressed_blocks() {
    for codec in [Codec::Lz4, Codec::Zstd] {
        flip_and_cut(&samples::encode_block(&samples::compressible_block(), codec), |bytes| {
            Block::decode(&bytes, 0, CLUSTER).ok()
        });
    }
}

#[test]
fn wal_entries() {
    flip_and_cut(&samples::entry(34, 33, 0, &samples::sections()), |bytes| {
        decode_entry(&bytes, 0, &CONTEXT).ok()
    });
}

#[test]
fn wal_slots() {
    flip_and_cut(&samples::slot(), |bytes| Slot::decode(&bytes).ok());
    let longer = [&samples::slot()[..], &samples::entry(34, 29, 0, &samples::sections())].concat();
    assert!(Slot::decode(&longer.into()).is_err(), "more behind a slot");
}

#[test]
fn fixed_headers() {
    flip_and_cut(&samples::segment_header().encode(), |bytes| SegmentHeader::decode(&bytes).ok());
    flip_and_cut(&samples::seal().encode(), |bytes| Seal::decode(&bytes).ok());
    flip_and_cut(&keys::encode_marker(CLUSTER), |bytes| keys::decode_marker(&bytes).ok());
    flip_and_cut(&keys::encode_backup_marker(CLUSTER), |bytes| keys::decode_backup_marker(&bytes).ok());
    flip_and_cut(&samples::manifest().encode(CLUSTER), |bytes| Manifest::decode(&bytes).ok());
    flip_and_cut(&encode_object_header(CLUSTER), |bytes| decode_object_header(&bytes).ok());
}

#[test]
fn objects() {
    let read = |bytes: Bytes| -> Result<_, DecodeError> {
        let footer = Footer::decode(&bytes, bytes.len() as u64)?;
        let start = footer.index_position as usize;
        let index = ObjectIndex::decode(&bytes[start..start + footer.index_len as usize], &footer)?;
        let mut blocks = Vec::new();
        for entry in &index.streams {
            for extent in &entry.extents {
                let from = extent.position as usize;
                let range = bytes.slice(from..from + extent.length as usize);
                for block in walk_blocks(&range, &index.source, entry.stream) {
                    blocks.push(block?);
                }
            }
        }
        Ok((index, blocks))
    };
    flip_and_cut(&samples::segment_object().0, |bytes| read(bytes).ok());
    flip_and_cut(&samples::packed_object(Codec::None).0, |bytes| read(bytes).ok());
    flip_and_cut(&samples::summarised_object().0, |bytes| read(bytes).ok());
}

#[test]
fn frames() {
    flip_and_cut(&samples::write_frame(), |bytes| records::decode_write(&bytes).ok());
    let one = records::encode_read(&samples::block()).concat();
    flip_and_cut(&one, |bytes| Frame::decode(&bytes, 0).ok().flatten());
}
