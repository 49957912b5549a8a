//! The log cache of one open stream: owns its durable blocks that are not committed yet, and the recent ones that
//! are. Guarantees that they follow one another without a gap up to the durable tail, so that what lies above its
//! start is found here or does not exist. Never holds what is not durable, so a reader cannot see past the durable
//! tail; never copies a body; never decides what is evicted.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use kelda_format::{Block, Offset, Timestamp};

use crate::cut::Cut;
use crate::types::ReadLimit;

/// An empty cache gives back its memory when it had room for more blocks than this: idle streams stay small.
const IDLE_BLOCKS: usize = 8;

/// Durable blocks of one stream, oldest first.
#[derive(Debug)]
pub(crate) struct LogCache {
    /// Where the first block begins, or would.
    start: Offset,
    /// The durable tail.
    end: Offset,
    /// Bytes of all blocks ever pushed, and of those that were evicted.
    pushed: u64,
    evicted: u64,
    blocks: VecDeque<Cached>,
}

#[derive(Debug)]
struct Cached {
    block: Block,
    /// `pushed` when it had been pushed: bytes between two blocks are a difference of two of these.
    pushed: u64,
}

/// What the cache knows about a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FoundTime {
    /// The first record at or after the time.
    At(Offset),
    /// Every record of the stream is before the time.
    None,
    /// The first record of the cache is at or after the time, and earlier ones outside may be too.
    AtOrBefore(Offset),
}

impl LogCache {
    /// An empty cache of a stream whose durable tail is `tail`, all of it committed.
    pub(crate) fn new(tail: Offset) -> LogCache {
        LogCache { start: tail, end: tail, pushed: 0, evicted: 0, blocks: VecDeque::new() }
    }

    /// Adds a block that became durable.
    ///
    /// # Panics
    /// When it does not begin at the durable tail.
    pub(crate) fn push(&mut self, block: Block) {
        assert_eq!(block.base(), self.end, "the durable tail moves without gaps");
        self.end = block.end();
        self.pushed += weight(&block);
        if self.blocks.capacity() == 0 {
            // Many streams get one block and then nothing for long; the usual growth makes room for four.
            self.blocks.reserve_exact(1);
        }
        self.blocks.push_back(Cached { block, pushed: self.pushed });
    }

    /// The blocks from `from` on, cut to `limit`; nothing in them at the durable tail. `None` when `from` lies
    /// before the cache: it is in objects of a view taken after this answer, since blocks are evicted only when
    /// the commit that covers them is in the published view.
    pub(crate) fn read(&self, from: Offset, limit: &ReadLimit) -> Option<Vec<Block>> {
        if from < self.start {
            return None;
        }
        let mut cut = Cut::new(from, limit);
        for cached in self.blocks.range(self.find(from)..) {
            if !cut.wants_more() {
                break;
            }
            cut.push(&cached.block, self.end);
        }
        Some(cut.finish())
    }

    /// Where the first record at or after `time` is, as far as the cache can tell.
    pub(crate) fn find_time(&self, time: Timestamp) -> FoundTime {
        let at = self.blocks.partition_point(|cached| cached.block.last_timestamp() < time);
        match self.blocks.get(at) {
            None => {
                // Times never decrease, so the last record tells about all before it; without one, ask outside.
                if self.blocks.is_empty() { FoundTime::AtOrBefore(self.end) } else { FoundTime::None }
            }
            Some(cached) => match cached.block.find_time(time) {
                found if found == self.start => FoundTime::AtOrBefore(found),
                found => FoundTime::At(found),
            },
        }
    }

    /// Drops the blocks that end at or before `offset`. The published view says already that they are committed,
    /// or trimmed.
    pub(crate) fn evict_through(&mut self, offset: Offset) {
        while let Some(cached) = self.blocks.front().filter(|cached| cached.block.end() <= offset) {
            self.start = cached.block.end();
            self.evicted = cached.pushed;
            self.blocks.pop_front();
        }
        self.release();
    }

    /// Bytes of the blocks that lie at or after `offset`.
    pub(crate) fn bytes_from(&self, offset: Offset) -> u64 {
        let before = match self.find(offset).checked_sub(1) {
            Some(at) => self.blocks[at].pushed,
            None => self.evicted,
        };
        self.pushed - before
    }

    /// Time of the first record at or after `offset`, if it is held; at most that of the block it is in.
    pub(crate) fn time_at(&self, offset: Offset) -> Option<Timestamp> {
        if offset < self.start {
            return None;
        }
        self.blocks.get(self.find(offset)).map(|cached| cached.block.first_timestamp())
    }

    /// Position of the first block that ends after `offset`.
    fn find(&self, offset: Offset) -> usize {
        self.blocks.partition_point(|cached| cached.block.end() <= offset)
    }

    fn release(&mut self) {
        if self.blocks.is_empty() && self.blocks.capacity() > IDLE_BLOCKS {
            self.blocks = VecDeque::new();
        }
    }
}

/// Bytes of memory that a cached block takes.
fn weight(block: &Block) -> u64 {
    block.byte_len() + size_of::<Cached>() as u64
}
