//! What one read may still return: owns the counting of records and bytes against a limit while blocks come in,
//! for cache and objects alike. Guarantees that the blocks it gathers follow one another without a gap, that at
//! least one record is returned when there is one, and that beyond it no limit is exceeded. Copies no body.

use kelda_format::{Block, Offset};

use crate::types::ReadLimit;

/// The blocks of one read, cut to its limit.
#[derive(Debug)]
pub(crate) struct Cut {
    next: Offset,
    until: Offset,
    records_left: u64,
    bytes_left: u64,
    /// A record was left out because it does not fit any more.
    full: bool,
    blocks: Vec<Block>,
}

impl Cut {
    pub(crate) fn new(from: Offset, limit: &ReadLimit) -> Cut {
        Cut {
            next: from,
            until: limit.until.unwrap_or(Offset(u64::MAX)),
            records_left: limit.max_records,
            bytes_left: limit.max_bytes,
            full: false,
            blocks: Vec::new(),
        }
    }

    /// The offset that has to come next.
    pub(crate) fn next(&self) -> Offset {
        self.next
    }

    /// Only records before this offset are wanted.
    pub(crate) fn until(&self) -> Offset {
        self.until
    }

    pub(crate) fn records_left(&self) -> u64 {
        self.records_left
    }

    pub(crate) fn bytes_left(&self) -> u64 {
        self.bytes_left
    }

    /// Whether nothing was taken yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Whether another record may be taken.
    pub(crate) fn wants_more(&self) -> bool {
        let first = self.blocks.is_empty();
        !self.full && self.next < self.until && self.records_left > 0 && (first || self.bytes_left > 0)
    }

    /// Takes from `block`, which holds the next offset, what the limit allows and lies before `end`.
    ///
    /// # Panics
    /// When the block does not hold the next offset: the caller found blocks with a gap between them.
    pub(crate) fn push(&mut self, block: &Block, end: Offset) {
        if !self.wants_more() || end <= self.next {
            return;
        }
        assert!(
            block.base() <= self.next && self.next < block.end(),
            "a block of {} to {} where {} has to come",
            block.base(),
            block.end(),
            self.next
        );
        let until = self.until.min(end);
        let Some(part) = block.slice(self.next, until, self.records_left, self.bytes_left) else { return };
        let bytes = part.byte_len();
        // A slice has at least one record, however large; only the first of a read may be too large.
        if part.count() == 1 && bytes > self.bytes_left && !self.blocks.is_empty() {
            self.full = true;
            return;
        }
        self.full = part.end() < block.end().min(until);
        self.next = part.end();
        self.records_left -= u64::from(part.count());
        self.bytes_left = self.bytes_left.saturating_sub(bytes);
        self.blocks.push(part);
    }

    /// What was gathered.
    pub(crate) fn finish(self) -> Vec<Block> {
        self.blocks
    }
}
