//! The metadata of consecutive records, kept apart from their bodies: owns its layout, guarantees that what
//! passed [`check`] can be iterated without errors, never holds a record's place (so that giving a batch its
//! place rewrites nothing).
//!
//! For each record: flags (`u8`), body length (varint), then what the flags announce: milliseconds after the
//! first record (varint, not 0), the producer's timestamp (varint), the headers (varint length, not 0, list).

use std::ops::Range;

use bytes::Bytes;

use crate::header::Headers;
use crate::ids::{Offset, Timestamp};
use crate::limits::MAX_RECORD_BYTES;
use crate::record::{Record, StoredRecord};
use crate::wire::{DecodeError, Reader, put_bytes, put_varint};

const WHAT: &str = "record metadata";

const LATER: u8 = 1;
const PRODUCER_TIME: u8 = 2;
const HEADERS: u8 = 4;

/// The metadata of one record.
pub(crate) struct Meta {
    pub body_len: usize,
    pub later_ms: u64,
    pub producer_timestamp: Option<Timestamp>,
    /// Where in the metadata the encoded headers are; empty when there are none.
    pub headers: Range<usize>,
}

pub(crate) fn put(
    out: &mut Vec<u8>,
    body_len: usize,
    later_ms: u64,
    producer: Option<Timestamp>,
    headers: &[u8],
) {
    let mut flags = 0;
    if later_ms > 0 {
        flags |= LATER;
    }
    if producer.is_some() {
        flags |= PRODUCER_TIME;
    }
    if !headers.is_empty() {
        flags |= HEADERS;
    }
    out.push(flags);
    put_varint(out, body_len as u64);
    if later_ms > 0 {
        put_varint(out, later_ms);
    }
    if let Some(timestamp) = producer {
        put_varint(out, timestamp.0);
    }
    if !headers.is_empty() {
        put_bytes(out, headers);
    }
}

pub(crate) fn get(reader: &mut Reader<'_>) -> Result<Meta, DecodeError> {
    let flags = reader.u8()?;
    if flags & !(LATER | PRODUCER_TIME | HEADERS) != 0 {
        return Err(reader.error(format!("unknown record flags {flags:#04x}")));
    }
    let body_len = usize::try_from(reader.varint_up_to(MAX_RECORD_BYTES as u64)?).unwrap_or(usize::MAX);
    let later_ms = if flags & LATER != 0 { reader.varint()? } else { 0 };
    if flags & LATER != 0 && later_ms == 0 {
        return Err(reader.error("record flagged as later, but by 0 ms"));
    }
    let producer_timestamp =
        if flags & PRODUCER_TIME != 0 { Some(Timestamp(reader.varint()?)) } else { None };
    let mut headers = 0..0;
    if flags & HEADERS != 0 {
        let length = reader.length()?;
        if length == 0 {
            return Err(reader.error("record flagged as having headers, but with 0 bytes of them"));
        }
        headers = reader.at()..reader.at() + length;
        reader.take(length)?;
    }
    Ok(Meta { body_len, later_ms, producer_timestamp, headers })
}

/// Checks the metadata of `count` records with `body_len` bytes of bodies. Returns how many milliseconds after
/// the first the last one is.
pub(crate) fn check(meta: &[u8], count: u32, body_len: usize) -> Result<u64, DecodeError> {
    let mut reader = Reader::new(meta, WHAT);
    let (mut bodies, mut last_ms) = (0usize, 0);
    for index in 0..count {
        let record = get(&mut reader)?;
        if index == 0 && record.later_ms != 0 || record.later_ms < last_ms {
            return Err(reader.error("timestamps that do not begin at the first or that decrease"));
        }
        last_ms = record.later_ms;
        Headers::check(&meta[record.headers])?;
        bodies = bodies.saturating_add(record.body_len);
        if bodies > body_len {
            break;
        }
    }
    if bodies != body_len {
        return Err(reader.error(format!("bodies of {bodies} bytes or more announced, {body_len} present")));
    }
    reader.finish()?;
    Ok(last_ms)
}

/// Walks checked metadata and its bodies.
#[derive(Clone, Debug)]
pub struct Records {
    meta: Bytes,
    body: Bytes,
    meta_at: usize,
    body_at: usize,
    left: u32,
    next: Offset,
    first_timestamp: Timestamp,
}

impl Records {
    pub(crate) fn new(
        meta: &Bytes,
        body: &Bytes,
        count: u32,
        base: Offset,
        first_timestamp: Timestamp,
    ) -> Records {
        let (meta, body) = (meta.clone(), body.clone());
        Records { meta, body, meta_at: 0, body_at: 0, left: count, next: base, first_timestamp }
    }

    /// The next record's metadata and where its body is, without touching reference counts. Headers are
    /// relative to the position given third.
    pub(crate) fn advance(&mut self) -> Option<(Meta, Range<usize>, usize)> {
        if self.left == 0 {
            return None;
        }
        let from = self.meta_at;
        let mut reader = Reader::new(self.meta.get(from..)?, WHAT);
        let meta = get(&mut reader).ok()?;
        self.meta_at += reader.at();
        let body = self.body_at..self.body_at.checked_add(meta.body_len)?;
        if body.end > self.body.len() {
            return None;
        }
        self.body_at = body.end;
        self.left -= 1;
        self.next = Offset(self.next.0.wrapping_add(1));
        Some((meta, body, from))
    }

    /// Where the metadata and the bodies of the next record begin.
    pub(crate) fn position(&self) -> (usize, usize) {
        (self.meta_at, self.body_at)
    }
}

impl Iterator for Records {
    type Item = StoredRecord;

    fn next(&mut self) -> Option<StoredRecord> {
        let offset = self.next;
        let (meta, body, from) = self.advance()?;
        let headers = if meta.headers.is_empty() {
            Headers::none()
        } else {
            Headers::trusted(self.meta.slice(from + meta.headers.start..from + meta.headers.end))
        };
        let record =
            Record { body: self.body.slice(body), headers, producer_timestamp: meta.producer_timestamp };
        Some(StoredRecord { offset, timestamp: self.first_timestamp.plus_ms(meta.later_ms), record })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.left as usize))
    }
}
