//! Records over HTTP, binary (`application/vnd.kelda.records`): owns the frame, guarantees that frames delimit
//! themselves, so that a response is their concatenation and may end after any of them; never knows HTTP.
//!
//! A frame is a fixed header, the metadata and the bodies, both as in a block and never compressed (transfer
//! compression is HTTP's business).

mod frame;
mod walk;

use bytes::Bytes;

pub use frame::FRAME_HEADER_BYTES;
use frame::{Header, Kind};
pub use walk::FrameWalk;

use crate::batch::Batch;
use crate::block::Block;
use crate::ids::{Offset, Timestamp};
use crate::limits::{LimitError, MAX_BATCH_BYTES, MAX_BATCH_META_BYTES, MAX_BATCH_RECORDS};
use crate::record_meta::{self, Records};
use crate::wire::{DecodeError, crc};

/// The content type of frames.
pub const CONTENT_TYPE: &str = "application/vnd.kelda.records";

/// Bytes of the largest frame.
pub const MAX_FRAME_BYTES: usize = FRAME_HEADER_BYTES + MAX_BATCH_META_BYTES + MAX_BATCH_BYTES;

/// Why bytes are not a batch to append.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordsError {
    /// Not a frame.
    #[error(transparent)]
    Malformed(#[from] DecodeError),
    /// A frame beyond a limit.
    #[error(transparent)]
    Limit(#[from] LimitError),
}

/// A frame of a read: consecutive records of one stream, verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    base: Offset,
    first_timestamp: Timestamp,
    count: u32,
    meta: Bytes,
    body: Bytes,
}

impl Frame {
    /// The frame that begins at byte `at`, and where the next one begins; `None` when more bytes are needed.
    /// Shares the memory of `bytes`.
    ///
    /// # Errors
    /// When no bytes that follow could make it a frame of a read.
    pub fn decode(bytes: &Bytes, at: usize) -> Result<Option<(Frame, usize)>, DecodeError> {
        let rest = bytes.get(at..).unwrap_or_default();
        if rest.len() < FRAME_HEADER_BYTES {
            return Ok(None);
        }
        let header = Header::decode(rest)?;
        if header.kind != Kind::Read {
            return Err(DecodeError::new(frame::WHAT, 5, "frame of a write where one of a read should be"));
        }
        if rest.len() < header.frame_len() {
            return Ok(None);
        }
        let next = at + header.frame_len();
        let (meta, body) = header.parts(&bytes.slice(at..next))?;
        let span = record_meta::check(&meta, header.count, body.len())?;
        if header.first_timestamp.0.checked_add(span).is_none() {
            return Err(DecodeError::new(frame::WHAT, 16, "timestamps above 64 bits"));
        }
        let Header { base, first_timestamp, count, .. } = header;
        Ok(Some((Frame { base, first_timestamp, count, meta, body }, next)))
    }

    /// Offset of the first record.
    #[must_use]
    pub fn base(&self) -> Offset {
        self.base
    }

    /// Offset after the last record.
    #[must_use]
    pub fn end(&self) -> Offset {
        self.base.plus(u64::from(self.count))
    }

    /// The records, in order.
    #[must_use]
    pub fn records(&self) -> Records {
        Records::new(&self.meta, &self.body, self.count, self.base, self.first_timestamp)
    }
}

/// A block's records as a frame of a read: header, metadata, bodies. The latter two are shared.
#[must_use]
pub fn encode_read(block: &Block) -> [Bytes; 3] {
    let header = Header {
        kind: Kind::Read,
        checksums: true,
        base: block.base(),
        first_timestamp: block.first_timestamp(),
        count: block.count(),
        meta_len: block.header.meta_len,
        body_len: block.header.body_len,
        meta_crc: block.header.meta_crc,
        body_crc: block.header.body_crc,
    };
    [header.encode(), block.meta.clone(), block.body.clone()]
}

/// A batch as the frame of a write: header, metadata, bodies. The latter two are shared.
///
/// # Panics
/// When the batch is empty: an append without records has no frame.
#[must_use]
pub fn encode_write(batch: &Batch) -> [Bytes; 3] {
    assert!(!batch.is_empty(), "a frame has at least one record");
    let header = Header {
        kind: Kind::Write,
        checksums: true,
        base: Offset::ZERO,
        first_timestamp: Timestamp(0),
        count: batch.count(),
        meta_len: batch.meta().len().try_into().expect("bounded by the limits"),
        body_len: batch.body().len().try_into().expect("bounded by the limits"),
        meta_crc: batch.meta_crc(),
        body_crc: batch.body_crc(),
    };
    [header.encode(), batch.meta().clone(), batch.body().clone()]
}

/// Reads the body of a write: exactly one frame. Shares the memory of `bytes`.
///
/// # Errors
/// When it is not one frame of a write, or beyond a limit.
pub fn decode_write(bytes: &Bytes) -> Result<Batch, RecordsError> {
    let header = Header::decode(bytes)?;
    if header.kind != Kind::Write {
        let detail = "frame of a read where one of a write should be";
        return Err(DecodeError::new(frame::WHAT, 5, detail).into());
    }
    if header.count as usize > MAX_BATCH_RECORDS {
        return Err(LimitError::BatchRecords { found: u64::from(header.count) }.into());
    }
    if bytes.len() != header.frame_len() {
        let detail =
            format!("{} bytes, but the frame has {}; send exactly one", bytes.len(), header.frame_len());
        return Err(DecodeError::new(frame::WHAT, 0, detail).into());
    }
    let (meta, body) = header.parts(bytes)?;
    let sums = header.checksums.then_some((header.meta_crc, header.body_crc));
    let sums = sums.unwrap_or_else(|| (crc(&meta), crc(&body)));
    Ok(Batch::from_parts(header.count, meta, body, sums)?)
}
