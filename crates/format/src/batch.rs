//! Batches: what of a block does not depend on its place. Owns the building of metadata, bodies and their
//! checksums, before any lock is taken; guarantees that a batch is within the limits and copies a body at most
//! once; never knows a stream or an offset.

use bytes::Bytes;

use crate::header::Headers;
use crate::ids::{Offset, Timestamp};
use crate::limits::{LimitError, MAX_BATCH_BYTES, MAX_BATCH_META_BYTES, MAX_BATCH_RECORDS, MAX_RECORD_BYTES};
use crate::record::Record;
use crate::record_meta::{self, Records};
use crate::wire::{DecodeError, crc};

/// Records that are appended together, or not at all. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    count: u32,
    meta: Bytes,
    body: Bytes,
    meta_crc: u32,
    body_crc: u32,
}

impl Batch {
    /// No records: legal only together with a seal.
    #[must_use]
    pub const fn empty() -> Batch {
        Batch { count: 0, meta: Bytes::new(), body: Bytes::new(), meta_crc: 0, body_crc: 0 }
    }

    /// One record that is only a body, which is not copied.
    ///
    /// # Errors
    /// When the body is too large.
    pub fn single(body: Bytes) -> Result<Batch, LimitError> {
        Batch::one(body, &Headers::none(), None)
    }

    /// One record; its body is not copied.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub fn one(body: Bytes, headers: &Headers, producer: Option<Timestamp>) -> Result<Batch, LimitError> {
        check_body(body.len())?;
        let mut meta = Vec::with_capacity(META_GUESS + headers.encoded().len());
        record_meta::put(&mut meta, body.len(), 0, producer, headers.encoded());
        Ok(Batch::sum(1, meta.into(), body))
    }

    /// All of `records`, in order. Copies the bodies unless there is only one.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub fn from_records(records: &[Record]) -> Result<Batch, LimitError> {
        if let [record] = records {
            return Batch::one(record.body.clone(), &record.headers, record.producer_timestamp);
        }
        let bytes = records.iter().map(|record| record.body.len()).sum::<usize>().min(MAX_BATCH_BYTES);
        let mut builder = BatchBuilder::with_capacity(records.len(), bytes);
        for record in records {
            builder.push(&record.body, &record.headers, record.producer_timestamp)?;
        }
        Ok(builder.finish())
    }

    /// Takes metadata and bodies from outside, after checking all of them.
    /// Their checksums are known already.
    pub(crate) fn from_parts(
        count: u32,
        meta: Bytes,
        body: Bytes,
        (meta_crc, body_crc): (u32, u32),
    ) -> Result<Batch, DecodeError> {
        let later_ms = record_meta::check(&meta, count, body.len())?;
        if later_ms != 0 {
            return Err(DecodeError::new(
                "record metadata",
                0,
                "timestamps in a batch that has no place yet",
            ));
        }
        Ok(Batch { count, meta, body, meta_crc, body_crc })
    }

    fn sum(count: u32, meta: Bytes, body: Bytes) -> Batch {
        let (meta_crc, body_crc) = (crc(&meta), crc(&body));
        Batch { count, meta, body, meta_crc, body_crc }
    }

    /// Records in it, at most 10,000.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Whether it has no records.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
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

    /// CRC-32C of the metadata.
    #[must_use]
    pub fn meta_crc(&self) -> u32 {
        self.meta_crc
    }

    /// CRC-32C of the bodies.
    #[must_use]
    pub fn body_crc(&self) -> u32 {
        self.body_crc
    }

    /// Bytes of metadata and bodies: what it weighs in queues and caches.
    #[must_use]
    pub fn byte_len(&self) -> u64 {
        (self.meta.len() + self.body.len()) as u64
    }

    /// The records, in order.
    pub fn records(&self) -> impl Iterator<Item = Record> + use<> {
        Records::new(&self.meta, &self.body, self.count, Offset::ZERO, Timestamp(0))
            .map(|stored| stored.record)
    }
}

/// Bytes of metadata of a record without headers, rounded up.
const META_GUESS: usize = 16;

fn check_body(len: usize) -> Result<(), LimitError> {
    if len > MAX_RECORD_BYTES {
        return Err(LimitError::RecordBytes { found: len as u64 });
    }
    Ok(())
}

/// Builds a [`Batch`] record by record, copying each body once.
#[derive(Debug, Default)]
pub struct BatchBuilder {
    count: u32,
    meta: Vec<u8>,
    body: Vec<u8>,
}

impl BatchBuilder {
    /// A batch with nothing in it yet.
    #[must_use]
    pub fn new() -> BatchBuilder {
        BatchBuilder::default()
    }

    /// As [`BatchBuilder::new`], with room for `records` records and `bytes` bytes of bodies.
    #[must_use]
    pub fn with_capacity(records: usize, bytes: usize) -> BatchBuilder {
        let meta = records.min(MAX_BATCH_RECORDS) * 4;
        let body = bytes.min(MAX_BATCH_BYTES);
        BatchBuilder { count: 0, meta: Vec::with_capacity(meta), body: Vec::with_capacity(body) }
    }

    /// Adds a record.
    ///
    /// # Errors
    /// When a limit is exceeded; the batch is then unchanged.
    pub fn push(
        &mut self,
        body: &[u8],
        headers: &Headers,
        producer: Option<Timestamp>,
    ) -> Result<(), LimitError> {
        check_body(body.len())?;
        let records = self.count as usize + 1;
        if records > MAX_BATCH_RECORDS {
            return Err(LimitError::BatchRecords { found: records as u64 });
        }
        let bytes = self.body.len() + body.len();
        if bytes > MAX_BATCH_BYTES {
            return Err(LimitError::BatchBytes { found: bytes as u64 });
        }
        let meta_before = self.meta.len();
        record_meta::put(&mut self.meta, body.len(), 0, producer, headers.encoded());
        if self.meta.len() > MAX_BATCH_META_BYTES {
            let found = self.meta.len() as u64;
            self.meta.truncate(meta_before);
            return Err(LimitError::BatchMetaBytes { found });
        }
        self.body.extend_from_slice(body);
        self.count += 1;
        Ok(())
    }

    /// Records so far.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Bytes of metadata and bodies so far.
    #[must_use]
    pub fn byte_len(&self) -> u64 {
        (self.meta.len() + self.body.len()) as u64
    }

    /// The batch, with its checksums; [`Batch::empty`] when nothing was added.
    #[must_use]
    pub fn finish(self) -> Batch {
        Batch::sum(self.count, self.meta.into(), self.body.into())
    }
}
