//! Compression: every codec gives back what it was given, and no announced length is believed.

use kelda_format::block::{BLOCK_HEADER_BYTES, Block};
use kelda_format::fuzzing::{self, CLUSTER};
use kelda_format::limits::MAX_BATCH_BYTES;
use kelda_format::wire::{crc, crc_with};
use kelda_format::{Batch, Codec, Offset};

use crate::samples::{self, STREAM, TIME};

#[test]
fn every_codec_gives_back_what_it_was_given() {
    for block in [samples::block(), samples::compressible_block()] {
        for codec in [Codec::None, Codec::Lz4, Codec::Zstd] {
            let bytes = samples::encode_block(&block, codec);
            let length = bytes.len();
            assert_eq!(Block::decode(&bytes.into(), 0, CLUSTER), Ok((block.clone(), length)), "{codec:?}");
        }
    }
}

#[test]
fn what_does_not_shrink_is_stored_as_it_is() {
    let block = Block::place(&samples::single("x"), STREAM, Offset(0), TIME);
    for codec in [Codec::Lz4, Codec::Zstd] {
        assert_eq!(samples::encode_block(&block, codec), samples::encode_block(&block, Codec::None));
    }
}

#[test]
fn the_largest_body_survives() {
    let batch = Batch::single(vec![b'z'; MAX_BATCH_BYTES].into()).unwrap();
    let block = Block::place(&batch, STREAM, Offset(0), TIME);
    for codec in [Codec::Lz4, Codec::Zstd] {
        let bytes = samples::encode_block(&block, codec);
        assert!(bytes.len() < MAX_BATCH_BYTES / 100);
        assert_eq!(Block::decode(&bytes.into(), 0, CLUSTER).unwrap().0, block);
    }
}

/// A compressed block whose announced body length is changed; the fuzz body repairs the checksums, so that the
/// codec is what refuses it.
fn announce(codec: Codec, body_raw_len: u32) -> Vec<u8> {
    let mut bytes = samples::encode_block(&samples::compressible_block(), codec);
    bytes[56..60].copy_from_slice(&body_raw_len.to_le_bytes());
    fuzzing::block(&bytes);
    let sum = crc_with(crc(&CLUSTER.0), &bytes[..76]);
    bytes[76..80].copy_from_slice(&sum.to_le_bytes());
    bytes
}

#[test]
fn a_false_length_is_refused_whatever_it_claims() {
    let right = u32::try_from(samples::compressible_block().body().len()).unwrap();
    for codec in [Codec::Lz4, Codec::Zstd] {
        assert!(Block::decode(&announce(codec, right).into(), 0, CLUSTER).is_ok());
        for wrong in
            [right - 1, right + 1, 2 * right, MAX_BATCH_BYTES as u32, MAX_BATCH_BYTES as u32 + 1, u32::MAX]
        {
            let error = Block::decode(&announce(codec, wrong).into(), 0, CLUSTER).unwrap_err();
            assert!(!error.to_string().contains("checksum"), "{codec:?} {wrong}: {error}");
        }
    }
}

#[test]
fn nothing_may_follow_what_was_compressed() {
    for codec in [Codec::Lz4, Codec::Zstd] {
        let mut bytes = samples::encode_block(&samples::compressible_block(), codec);
        let field = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let (meta_len, body_len) = (field(&bytes, 44), field(&bytes, 52));
        let body_end = BLOCK_HEADER_BYTES + meta_len as usize + body_len as usize;
        bytes.truncate(body_end);
        bytes.push(0);
        bytes[52..56].copy_from_slice(&(body_len + 1).to_le_bytes());
        let body = crc(&bytes[BLOCK_HEADER_BYTES + meta_len as usize..]);
        bytes[68..72].copy_from_slice(&body.to_le_bytes());
        let sum = crc_with(crc(&CLUSTER.0), &bytes[..76]);
        bytes[76..80].copy_from_slice(&sum.to_le_bytes());
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        let error = Block::decode(&bytes.into(), 0, CLUSTER).unwrap_err();
        assert!(error.to_string().starts_with("compressed block"), "{codec:?}: {error}");
    }
}

#[test]
fn an_unknown_codec_is_refused() {
    assert!(Codec::from_byte(3).unwrap_err().to_string().contains("unknown codec 3"));
    for codec in [Codec::None, Codec::Lz4, Codec::Zstd] {
        assert_eq!(Codec::from_byte(codec as u8), Ok(codec));
    }
}
