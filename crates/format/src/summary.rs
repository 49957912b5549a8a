//! What filters may find among some records, without the records: the values of the header `x-stream-filter-value`.
//!
//! Owns what the value of a record is, the short hashes that a summary keeps of values, and the question that a filter asks.
//! Guarantees that a summary never denies what is there; it may say yes to what is not. Never replaces a look at the records.

use std::sync::LazyLock;

use bytes::Bytes;
use memchr::memmem::Finder;

use crate::block::Block;
use crate::header::{Headers, Value};
use crate::limits::MAX_SUMMARY_VALUES;
use crate::wire::{DecodeError, Reader, crc, put_varint};

/// The header of a record that filters look at.
pub const VALUE_HEADER: &str = "x-stream-filter-value";

/// The value of a record with these headers; none when the header is not there, or is no text.
#[must_use]
pub fn value(headers: &Headers) -> Option<Bytes> {
    if headers.is_empty() {
        return None;
    }
    match headers.get(VALUE_HEADER)? {
        Value::Text(text) | Value::ShortString(text) => Some(text.into()),
        Value::LongString(bytes) => Some(bytes),
        _ => None,
    }
}

/// Most streams know no filters: their metadata is looked through as bytes.
fn may_have_values(block: &Block) -> bool {
    static NAME: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(VALUE_HEADER));
    NAME.find(block.meta()).is_some()
}

/// Bytes of the longest head of a summary, and of the longest difference between two hashes.
const HEAD_MAX_BYTES: u64 = 2;
const HASH_MAX_BYTES: u64 = 3;

/// What records have for values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Hashes of the values: ascending, each once, at most [`MAX_SUMMARY_VALUES`].
    hashes: Vec<u16>,
    /// Whether some record has no value.
    plain: bool,
}

impl Summary {
    /// Of records without values.
    #[must_use]
    pub fn plain() -> Summary {
        Summary { hashes: Vec::new(), plain: true }
    }

    /// Whether no record has a value.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Of a block; none when it has too many values.
    #[must_use]
    pub fn of(block: &Block) -> Option<Summary> {
        if !may_have_values(block) {
            return Some(Summary::plain());
        }
        let mut summary = Summary { hashes: Vec::new(), plain: false };
        for stored in block.records() {
            match value(&stored.record.headers) {
                Some(value) => summary.hashes.push(hash(&value)),
                None => summary.plain = true,
            }
        }
        summary.bounded()
    }

    /// Bytes that a block adds to an index at most by being summed up.
    #[must_use]
    pub fn max_bytes(block: &Block) -> u64 {
        let values =
            if may_have_values(block) { (block.count() as usize).min(MAX_SUMMARY_VALUES) } else { 0 };
        HEAD_MAX_BYTES + values as u64 * HASH_MAX_BYTES
    }

    /// Of the records of both; none when they have too many values.
    #[must_use]
    pub fn and(mut self, other: &Summary) -> Option<Summary> {
        self.hashes.extend_from_slice(&other.hashes);
        self.plain |= other.plain;
        self.bounded()
    }

    fn bounded(mut self) -> Option<Summary> {
        self.hashes.sort_unstable();
        self.hashes.dedup();
        (self.hashes.len() <= MAX_SUMMARY_VALUES).then_some(self)
    }

    /// Bytes of memory beside the value itself.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.hashes.capacity() * size_of::<u16>()
    }

    pub(crate) fn put(summary: Option<&Summary>, out: &mut Vec<u8>) {
        let Some(Summary { hashes, plain }) = summary else { return put_varint(out, 0) };
        put_varint(out, 1 + u64::from(*plain) + 2 * hashes.len() as u64);
        let mut next = 0;
        for hash in hashes {
            put_varint(out, u64::from(*hash) - next);
            next = u64::from(*hash) + 1;
        }
    }

    pub(crate) fn get(reader: &mut Reader<'_>) -> Result<Option<Summary>, DecodeError> {
        let head = match reader.varint_up_to(2 + 2 * MAX_SUMMARY_VALUES as u64)? {
            0 => return Ok(None),
            1 => return Err(reader.error("a summary of no records")),
            head => head - 1,
        };
        let mut hashes = Vec::new();
        let mut next = 0u64;
        for _ in 0..head / 2 {
            let step = reader.varint_up_to(u64::from(u16::MAX))?;
            let found = u16::try_from(next + step).map_err(|_| reader.error("hash above 16 bits"))?;
            hashes.push(found);
            next = u64::from(found) + 1;
        }
        Ok(Some(Summary { hashes, plain: head % 2 == 1 }))
    }
}

/// What a filter wants, as far as summaries can tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    hashes: Vec<u16>,
    plain: bool,
}

impl Selection {
    /// Records with one of `values`, and with `plain` those without a value.
    #[must_use]
    pub fn new<'a>(values: impl IntoIterator<Item = &'a [u8]>, plain: bool) -> Selection {
        Selection { hashes: values.into_iter().map(hash).collect(), plain }
    }

    /// Whether what is summed up may have a wanted record; no summary denies nothing.
    #[must_use]
    pub fn may_want(&self, summary: Option<&Summary>) -> bool {
        let Some(summary) = summary else { return true };
        (self.plain && summary.plain)
            || self.hashes.iter().any(|hash| summary.hashes.binary_search(hash).is_ok())
    }
}

/// 16 bits: of a thousand values in 64 KiB of records, one in 65 that is not there is taken for one that is.
fn hash(value: &[u8]) -> u16 {
    let sum = crc(value);
    (sum ^ (sum >> 16)) as u16
}
