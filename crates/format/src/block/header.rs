//! The fixed header of a block, as stored: owns its bytes, guarantees that a decoded one is within the limits,
//! never looks at the parts it describes.

use crate::codec::Codec;
use crate::ids::{ClusterId, Offset, StreamId, Timestamp};
use crate::limits::{MAX_BATCH_BYTES, MAX_BATCH_META_BYTES, MAX_BLOCK_RECORDS, MAX_SUMMARY_BYTES};
use crate::wire::{DecodeError, Fixed, Reader, crc, crc_with, padding};

/// Bytes of an encoded header.
pub const BLOCK_HEADER_BYTES: usize = 80;

pub(crate) const BLOCK_MAGIC: [u8; 4] = *b"KBLK";

const VERSION: u8 = 1;
const HAS_SUMMARY: u16 = 1;
const WHAT: &str = "block header";

/// What stands before the parts of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockHeader {
    /// How parts whose stored length is below their raw length are compressed.
    pub codec: Codec,
    /// Whose records these are.
    pub stream: StreamId,
    /// Offset of the first record.
    pub base: Offset,
    /// Timestamp of the first record.
    pub first_timestamp: Timestamp,
    /// Timestamp of the last record.
    pub last_timestamp: Timestamp,
    /// Records, at least 1.
    pub count: u32,
    /// Bytes of the metadata as stored.
    pub meta_len: u32,
    /// Bytes of the metadata uncompressed.
    pub meta_raw_len: u32,
    /// Bytes of the bodies as stored.
    pub body_len: u32,
    /// Bytes of the bodies uncompressed.
    pub body_raw_len: u32,
    /// Bytes of the summary, 0 for none.
    pub summary_len: u32,
    /// CRC-32C of the metadata as stored.
    pub meta_crc: u32,
    /// CRC-32C of the bodies as stored.
    pub body_crc: u32,
    /// CRC-32C of the summary.
    pub summary_crc: u32,
}

impl BlockHeader {
    /// Offset after the last record.
    #[must_use]
    pub fn end(&self) -> Offset {
        self.base.plus(u64::from(self.count))
    }

    /// Bytes of the parts as stored, without header and padding.
    #[must_use]
    pub fn data_len(&self) -> u64 {
        u64::from(self.meta_len) + u64::from(self.body_len) + u64::from(self.summary_len)
    }

    /// [`BlockHeader::data_len`] rounded up to a multiple of 8.
    #[must_use]
    pub fn padded_data_len(&self) -> u64 {
        self.data_len() + padding(self.data_len()) as u64
    }

    /// The encoding; its checksum begins with the cluster id, so that no other cluster's header passes.
    #[must_use]
    pub fn encode(&self, cluster: ClusterId) -> [u8; BLOCK_HEADER_BYTES] {
        let mut out = Fixed::new(&BLOCK_MAGIC);
        out.u8(VERSION);
        out.u8(self.codec as u8);
        out.u16(if self.summary_len > 0 { HAS_SUMMARY } else { 0 });
        for field in [self.stream.0, self.base.0, self.first_timestamp.0, self.last_timestamp.0] {
            out.u64(field);
        }
        out.u32(self.count);
        for field in [self.meta_len, self.meta_raw_len, self.body_len, self.body_raw_len, self.summary_len] {
            out.u32(field);
        }
        for field in [self.meta_crc, self.body_crc, self.summary_crc] {
            out.u32(field);
        }
        out.finish(crc(&cluster.0))
    }

    /// Reads a header at the beginning of `bytes`.
    ///
    /// # Errors
    /// When it is damaged, of another cluster, of a later version, or beyond a limit.
    pub fn decode(bytes: &[u8], cluster: ClusterId) -> Result<BlockHeader, DecodeError> {
        let mut reader = Reader::new(bytes, WHAT);
        let whole = reader.clone().take(BLOCK_HEADER_BYTES)?;
        if reader.array::<4>()? != BLOCK_MAGIC {
            return Err(reader.error("no block begins here"));
        }
        let (summed, sum) = whole.split_at(BLOCK_HEADER_BYTES - 4);
        if crc_with(crc(&cluster.0), summed).to_le_bytes() != sum {
            return Err(reader.error("checksum mismatch: damaged, or of another cluster"));
        }
        reader.version_u8(VERSION)?;
        let codec = Codec::from_byte(reader.u8()?)?;
        let flags = reader.u16()?;
        let header = BlockHeader {
            codec,
            stream: StreamId(reader.u64()?),
            base: Offset(reader.u64()?),
            first_timestamp: Timestamp(reader.u64()?),
            last_timestamp: Timestamp(reader.u64()?),
            count: reader.u32()?,
            meta_len: reader.u32()?,
            meta_raw_len: reader.u32()?,
            body_len: reader.u32()?,
            body_raw_len: reader.u32()?,
            summary_len: reader.u32()?,
            meta_crc: reader.u32()?,
            body_crc: reader.u32()?,
            summary_crc: reader.u32()?,
        };
        if flags != u16::from(header.summary_len > 0) {
            return Err(reader.error(format!("flags {flags:#06x} do not fit the summary's length")));
        }
        header.check_limits().map_err(|detail| reader.error(detail))?;
        Ok(header)
    }

    fn check_limits(&self) -> Result<(), String> {
        if self.count == 0 || self.count as usize > MAX_BLOCK_RECORDS {
            return Err(format!("{} records, 1 to {MAX_BLOCK_RECORDS} allowed", self.count));
        }
        if self.base.0.checked_add(u64::from(self.count)).is_none() {
            return Err(format!("offsets from {} on leave the range", self.base));
        }
        if self.first_timestamp > self.last_timestamp {
            return Err(format!("times {} to {} run backwards", self.first_timestamp, self.last_timestamp));
        }
        let parts = [
            ("metadata", self.meta_len, self.meta_raw_len, MAX_BATCH_META_BYTES),
            ("bodies", self.body_len, self.body_raw_len, MAX_BATCH_BYTES),
            ("summary", self.summary_len, self.summary_len, MAX_SUMMARY_BYTES),
        ];
        for (name, stored, raw, max) in parts {
            if raw as usize > max {
                return Err(format!("{name} of {raw} bytes, at most {max} allowed"));
            }
            if stored > raw || (self.codec == Codec::None && stored != raw) {
                return Err(format!("{name} of {raw} bytes stored in {stored} with codec {:?}", self.codec));
            }
        }
        if self.codec != Codec::None
            && self.meta_len == self.meta_raw_len
            && self.body_len == self.body_raw_len
        {
            return Err(format!("codec {:?}, but nothing is compressed", self.codec));
        }
        Ok(())
    }
}
