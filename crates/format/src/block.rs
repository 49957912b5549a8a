//! Blocks: consecutive records of one stream, in their place. Owns the fixed header and what can be done with
//! a block in memory; guarantees that a decoded block passed every checksum and limit, so that walking it
//! cannot fail; never rewrites a batch to give it a place.
//!
//! In memory a block is always uncompressed; a codec applies where it is encoded.

mod decode;
mod header;
mod slice;

use bytes::Bytes;

pub(crate) use header::BLOCK_MAGIC;
pub use header::{BLOCK_HEADER_BYTES, BlockHeader};

use crate::batch::Batch;
use crate::codec::Codec;
use crate::ids::{ClusterId, Offset, StreamId, Timestamp};
use crate::limits::{MAX_BATCH_BYTES, MAX_BATCH_META_BYTES, MAX_BLOCK_RECORDS, MAX_SUMMARY_BYTES};
use crate::record_meta::{self, Records};
use crate::wire::{crc, padding};

/// A verified block. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Describes the parts as they are here: uncompressed.
    pub(crate) header: BlockHeader,
    pub(crate) meta: Bytes,
    pub(crate) body: Bytes,
    pub(crate) summary: Option<Bytes>,
}

impl Block {
    /// Gives a batch its place: all of its records at one `timestamp`. Copies nothing.
    ///
    /// # Panics
    /// When the batch is empty, which no block may be, or the offsets leave `u64`.
    #[must_use]
    pub fn place(batch: &Batch, stream: StreamId, base: Offset, timestamp: Timestamp) -> Block {
        assert!(!batch.is_empty(), "a block has at least one record");
        let _ = base.plus(u64::from(batch.count()));
        let header = BlockHeader {
            codec: Codec::None,
            stream,
            base,
            first_timestamp: timestamp,
            last_timestamp: timestamp,
            count: batch.count(),
            meta_len: len32(batch.meta()),
            meta_raw_len: len32(batch.meta()),
            body_len: len32(batch.body()),
            body_raw_len: len32(batch.body()),
            summary_len: 0,
            meta_crc: batch.meta_crc(),
            body_crc: batch.body_crc(),
            summary_crc: 0,
        };
        Block { header, meta: batch.meta().clone(), body: batch.body().clone(), summary: None }
    }

    /// Joins consecutive blocks of one stream into one, copying them. `None` when there are none, they are not
    /// consecutive, or the result would exceed a limit of blocks.
    #[must_use]
    pub fn join(blocks: &[Block]) -> Option<Block> {
        let first = blocks.first()?;
        let base_time = first.first_timestamp();
        let count: u64 = blocks.iter().map(|block| u64::from(block.count())).sum();
        let bodies: usize = blocks.iter().map(|block| block.body.len()).sum();
        if count > MAX_BLOCK_RECORDS as u64 || bodies > MAX_BATCH_BYTES {
            return None;
        }
        let mut meta = Vec::with_capacity(blocks.iter().map(|block| block.meta.len()).sum());
        let mut body = Vec::with_capacity(bodies);
        let (mut end, mut last) = (first.base(), base_time);
        for block in blocks {
            if block.stream() != first.stream() || block.base() != end || block.first_timestamp() < last {
                return None;
            }
            let later = block.first_timestamp().0 - base_time.0;
            let mut records = block.walk();
            while let Some((record, _, from)) = records.advance() {
                let headers = &block.meta[from + record.headers.start..from + record.headers.end];
                let later = later + record.later_ms;
                record_meta::put(&mut meta, record.body_len, later, record.producer_timestamp, headers);
            }
            body.extend_from_slice(&block.body);
            (end, last) = (block.end(), block.last_timestamp());
        }
        if meta.len() > MAX_BATCH_META_BYTES {
            return None;
        }
        let times = (base_time, last);
        Some(Block::assemble(
            first.stream(),
            first.base(),
            times,
            u32::try_from(count).ok()?,
            meta.into(),
            body.into(),
        ))
    }

    /// A block of checked parts, with fresh checksums.
    pub(crate) fn assemble(
        stream: StreamId,
        base: Offset,
        (first_timestamp, last_timestamp): (Timestamp, Timestamp),
        count: u32,
        meta: Bytes,
        body: Bytes,
    ) -> Block {
        let header = BlockHeader {
            codec: Codec::None,
            stream,
            base,
            first_timestamp,
            last_timestamp,
            count,
            meta_len: len32(&meta),
            meta_raw_len: len32(&meta),
            body_len: len32(&body),
            body_raw_len: len32(&body),
            summary_len: 0,
            meta_crc: crc(&meta),
            body_crc: crc(&body),
            summary_crc: 0,
        };
        Block { header, meta, body, summary: None }
    }

    /// The block with a summary that lets readers skip it; opaque here.
    ///
    /// # Panics
    /// When the summary is empty or longer than 1 MiB.
    #[must_use]
    pub fn with_summary(mut self, summary: Bytes) -> Block {
        assert!((1..=MAX_SUMMARY_BYTES).contains(&summary.len()), "summary of {} bytes", summary.len());
        self.header.summary_len = len32(&summary);
        self.header.summary_crc = crc(&summary);
        self.summary = Some(summary);
        self
    }

    /// The header, describing the parts uncompressed.
    #[must_use]
    pub fn header(&self) -> &BlockHeader {
        &self.header
    }

    /// The encoded metadata of all records.
    #[must_use]
    pub fn meta(&self) -> &Bytes {
        &self.meta
    }

    /// All bodies, one after the other.
    #[must_use]
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// The summary, if it has one.
    #[must_use]
    pub fn summary(&self) -> Option<&Bytes> {
        self.summary.as_ref()
    }

    /// Whose records these are.
    #[must_use]
    pub fn stream(&self) -> StreamId {
        self.header.stream
    }

    /// Offset of the first record.
    #[must_use]
    pub fn base(&self) -> Offset {
        self.header.base
    }

    /// Offset after the last record.
    #[must_use]
    pub fn end(&self) -> Offset {
        self.header.end()
    }

    /// Records in it, at least 1.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.header.count
    }

    /// Timestamp of the first record.
    #[must_use]
    pub fn first_timestamp(&self) -> Timestamp {
        self.header.first_timestamp
    }

    /// Timestamp of the last record.
    #[must_use]
    pub fn last_timestamp(&self) -> Timestamp {
        self.header.last_timestamp
    }

    /// Bytes of metadata and bodies: what it weighs in queues and caches.
    #[must_use]
    pub fn byte_len(&self) -> u64 {
        (self.meta.len() + self.body.len()) as u64
    }

    /// The records, in order.
    #[must_use]
    pub fn records(&self) -> Records {
        self.walk()
    }

    pub(crate) fn walk(&self) -> Records {
        Records::new(&self.meta, &self.body, self.count(), self.base(), self.first_timestamp())
    }

    /// Appends header, parts and padding to a multiple of 8, each part compressed where that is smaller.
    /// Returns how many bytes that was.
    pub fn encode_into(&self, out: &mut Vec<u8>, cluster: ClusterId, codec: Codec) -> usize {
        let before = out.len();
        let (meta, body) = (codec.compress(&self.meta), codec.compress(&self.body));
        let mut header = self.header.clone();
        header.codec = if meta.is_some() || body.is_some() { codec } else { Codec::None };
        if let Some(meta) = &meta {
            (header.meta_len, header.meta_crc) = (len32(meta), crc(meta));
        }
        if let Some(body) = &body {
            (header.body_len, header.body_crc) = (len32(body), crc(body));
        }
        out.extend_from_slice(&header.encode(cluster));
        out.extend_from_slice(meta.as_deref().unwrap_or(&self.meta));
        out.extend_from_slice(body.as_deref().unwrap_or(&self.body));
        if let Some(summary) = &self.summary {
            out.extend_from_slice(summary);
        }
        let pad = padding((out.len() - before) as u64);
        out.resize(out.len() + pad, 0);
        out.len() - before
    }
}

/// The length of a part, which limits keep far below 4 GiB.
fn len32(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).expect("part of a block above 4 GiB")
}
