//! The log cache of one stream: durable blocks that are not committed yet, and recent ones.

use std::collections::VecDeque;

use kelda_format::{Block, Offset, Timestamp};

use crate::types::ReadLimit;

/// Durable blocks of one stream, newest last, without gaps.
#[derive(Debug)]
pub(crate) struct LogCache {
    blocks: VecDeque<Block>,
    bytes: u64,
}

impl LogCache {
    pub(crate) fn new(_durable: Offset) -> LogCache {
        LogCache { blocks: VecDeque::new(), bytes: 0 }
    }

    /// Adds the block that begins at the durable tail; it lies in WAL segment `_segment`.
    pub(crate) fn push(&mut self, block: Block, _segment: u64) {
        self.bytes += block.byte_len();
        self.blocks.push_back(block);
    }

    /// Drops the blocks that end at or before `offset`.
    pub(crate) fn evict_through(&mut self, offset: Offset) {
        while self.blocks.front().is_some_and(|block| block.end() <= offset) {
            if let Some(block) = self.blocks.pop_front() {
                self.bytes -= block.byte_len();
            }
        }
    }

    /// The blocks from `from` on, cut to `limit`; none when `from` is not cached.
    pub(crate) fn read(&self, from: Offset, limit: &ReadLimit) -> Option<Vec<Block>> {
        let until = limit.until.unwrap_or(Offset(u64::MAX));
        let at = self.blocks.partition_point(|block| block.end() <= from);
        let first = self.blocks.get(at).filter(|block| block.base() <= from)?;
        first.slice(from, until, limit.max_records, limit.max_bytes).map(|block| vec![block])
    }

    /// The first cached record at or after `timestamp`, if the cache can tell.
    pub(crate) fn find_time(&self, timestamp: Timestamp) -> Option<Offset> {
        self.blocks
            .iter()
            .find(|block| block.last_timestamp() >= timestamp)
            .map(|block| block.find_time(timestamp))
    }

    /// Bytes of the blocks held.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}
