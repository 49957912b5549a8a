//! Reading blocks back: owns the verification of a block's parts, guarantees that a block that comes out can be
//! walked without errors, never allocates more than the limits allow.

use bytes::Bytes;

use super::{BLOCK_HEADER_BYTES, Block, BlockHeader, len32};
use crate::codec::Codec;
use crate::ids::ClusterId;
use crate::record_meta;
use crate::wire::{DecodeError, Reader, crc};

const WHAT: &str = "block";

impl Block {
    /// Reads the block that begins at byte `at`; returns it and where the next one may begin. The block shares
    /// the memory of `bytes` unless it was compressed.
    ///
    /// # Errors
    /// When it is damaged, cut short, of another cluster, of a later version, or beyond a limit.
    pub fn decode(bytes: &Bytes, at: usize, cluster: ClusterId) -> Result<(Block, usize), DecodeError> {
        let head = bytes.get(at..).unwrap_or_default();
        let header = BlockHeader::decode(head, cluster)?;
        let data_at = at + BLOCK_HEADER_BYTES;
        let data_end = data_at as u64 + header.padded_data_len();
        let next = usize::try_from(data_end).ok().filter(|&end| end <= bytes.len()).ok_or_else(|| {
            DecodeError::new(WHAT, at as u64, format!("ends at byte {data_end}, {} present", bytes.len()))
        })?;
        Ok((Block::from_parts(header, &bytes.slice(data_at..next))?, next))
    }

    /// Verifies the parts that `header` describes; `data` is them and their padding.
    pub(crate) fn from_parts(header: BlockHeader, data: &Bytes) -> Result<Block, DecodeError> {
        let mut reader = Reader::of_shared(data, WHAT);
        let meta = reader.shared(header.meta_len as usize)?;
        let body = reader.shared(header.body_len as usize)?;
        let summary = reader.shared(header.summary_len as usize)?;
        reader.zeros(reader.remaining())?;
        let parts = [
            ("metadata", &meta, header.meta_crc),
            ("bodies", &body, header.body_crc),
            ("summary", &summary, header.summary_crc),
        ];
        for (name, part, sum) in parts {
            if crc(part) != sum {
                return Err(DecodeError::new(WHAT, 0, format!("checksum mismatch of the {name}: damaged")));
            }
        }
        let mut block = Block { header, meta, body, summary: None };
        block.unpack()?;
        if !summary.is_empty() {
            block.summary = Some(summary);
        }
        let header = &block.header;
        let span = record_meta::check(&block.meta, header.count, block.body.len())?;
        if header.first_timestamp.0.checked_add(span) != Some(header.last_timestamp.0) {
            return Err(DecodeError::new(
                WHAT,
                0,
                format!(
                    "times {} to {} announced, but the last record is {span} ms after the first",
                    header.first_timestamp, header.last_timestamp
                ),
            ));
        }
        Ok(block)
    }

    /// Replaces compressed parts by what they were made of and lets the header say so.
    fn unpack(&mut self) -> Result<(), DecodeError> {
        let header = &mut self.header;
        let codec = std::mem::replace(&mut header.codec, Codec::None);
        if header.meta_len < header.meta_raw_len {
            self.meta = codec.decompress(&self.meta, header.meta_raw_len as usize)?.into();
            (header.meta_len, header.meta_crc) = (len32(&self.meta), crc(&self.meta));
        }
        if header.body_len < header.body_raw_len {
            self.body = codec.decompress(&self.body, header.body_raw_len as usize)?.into();
            (header.body_len, header.body_crc) = (len32(&self.body), crc(&self.body));
        }
        Ok(())
    }
}
