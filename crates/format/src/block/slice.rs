//! Parts of blocks: owns the search by offset and by time within one block, guarantees that a slice is a block
//! like any other, never copies bodies.

use bytes::Bytes;

use super::Block;
use crate::ids::{Offset, Timestamp};
use crate::record_meta;

impl Block {
    /// The records of `from..until`, at most `max_records` of them and `max_bytes` bytes of bodies and headers,
    /// but at least one. `None` when no record lies in the range or `max_records` is 0. The summary stays
    /// behind unless all records are wanted.
    #[must_use]
    pub fn slice(&self, from: Offset, until: Offset, max_records: u64, max_bytes: u64) -> Option<Block> {
        let (from, until) = (from.max(self.base()), until.min(self.end()));
        if from >= until || max_records == 0 {
            return None;
        }
        if from == self.base()
            && until == self.end()
            && u64::from(self.count()) <= max_records
            && self.byte_len() <= max_bytes
        {
            return Some(self.clone());
        }
        let mut walk = self.walk();
        for _ in 0..from.since(self.base()) {
            walk.advance()?;
        }
        let start = walk.position();
        let wanted = until.since(from).min(max_records);
        let (mut count, mut bytes, mut first_ms, mut last_ms) = (0u32, 0u64, 0, 0);
        let mut end = start;
        while u64::from(count) < wanted {
            let (record, body, _) = walk.advance()?;
            bytes += (body.len() + record.headers.len()) as u64;
            if count > 0 && bytes > max_bytes {
                break;
            }
            if count == 0 {
                first_ms = record.later_ms;
            }
            (last_ms, end) = (record.later_ms, walk.position());
            count += 1;
        }
        let meta = self.meta.slice(start.0..end.0);
        let meta = if first_ms == 0 { meta } else { rebase(&meta, first_ms) };
        let times = (self.first_timestamp().plus_ms(first_ms), self.first_timestamp().plus_ms(last_ms));
        Some(Block::assemble(self.stream(), from, times, count, meta, self.body.slice(start.1..end.1)))
    }

    /// The bodies of `from..until` without anything between them. Empty when no record lies in the range.
    #[must_use]
    pub fn bodies(&self, from: Offset, until: Offset) -> Bytes {
        let (from, until) = (from.max(self.base()), until.min(self.end()));
        if from >= until {
            return Bytes::new();
        }
        if from == self.base() && until == self.end() {
            return self.body.clone();
        }
        let mut walk = self.walk();
        for _ in 0..from.since(self.base()) {
            walk.advance();
        }
        let start = walk.position().1;
        for _ in 0..until.since(from) {
            walk.advance();
        }
        self.body.slice(start..walk.position().1)
    }

    /// Offset of the first record at or after `timestamp`; the end when there is none.
    #[must_use]
    pub fn find_time(&self, timestamp: Timestamp) -> Offset {
        if timestamp <= self.first_timestamp() {
            return self.base();
        }
        if timestamp > self.last_timestamp() {
            return self.end();
        }
        let mut walk = self.walk();
        let mut offset = self.base();
        while let Some((record, _, _)) = walk.advance() {
            if self.first_timestamp().plus_ms(record.later_ms) >= timestamp {
                break;
            }
            offset = offset.plus(1);
        }
        offset
    }
}

/// Metadata whose first record is `first_ms` after the block's, made relative to that record.
fn rebase(meta: &Bytes, first_ms: u64) -> Bytes {
    let mut out = Vec::with_capacity(meta.len());
    let mut reader = crate::wire::Reader::new(meta, "record metadata");
    while let Ok(record) = record_meta::get(&mut reader) {
        let later = record.later_ms.saturating_sub(first_ms);
        record_meta::put(&mut out, record.body_len, later, record.producer_timestamp, &meta[record.headers]);
    }
    out.into()
}
