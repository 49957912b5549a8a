//! What the slots of a range say: owns their blocks, by stream, and the summary of the commit to come. Guarantees that it
//! holds exactly the entries that were added, in their order. Never touches the store.
//!
//! Blocks share the bodies of their records with the log cache, so a range costs little memory of its own.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kelda_format::wal::{Section, StreamSection};
use kelda_format::{Block, StreamId};
use tokio::sync::OwnedSemaphorePermit;

use crate::upload::plan::{COMMIT_BYTES, SegmentSummary};

/// Slots of one range at most: so many are deleted with one request, and read anew by a recovery that is interrupted.
const RANGE_SLOTS: u64 = 1000;

/// Entries of a contiguous range of slots.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// What they say.
    pub(crate) summary: SegmentSummary,
    /// The records of each stream that has some.
    pub(crate) blocks: BTreeMap<StreamId, Vec<Block>>,
    /// Bytes of the entries.
    pub(crate) bytes: u64,
}

impl Contents {
    /// Adds an entry of `bytes`.
    pub(crate) fn add(&mut self, sections: &[StreamSection], bytes: u64) {
        self.bytes += bytes;
        self.summary.add_unplaced(sections, bytes);
        for StreamSection { stream, section, .. } in sections {
            if let Section::Records(block) = section {
                self.blocks.entry(*stream).or_default().push(block.clone());
            }
        }
    }

    /// Whether a range of so many slots with these contents takes no more, where objects have `segment_bytes`.
    pub(crate) fn is_full(&self, slots: u64, segment_bytes: u64) -> bool {
        self.bytes >= segment_bytes || slots >= RANGE_SLOTS || self.summary.commit_bytes() > COMMIT_BYTES
    }
}

/// A range of acknowledged slots on its way to the uploader.
pub(crate) struct SlotRange {
    /// The first slot.
    pub(crate) first: u64,
    /// The slot after the last.
    pub(crate) next: u64,
    /// How many entries of the session lie before `next`.
    pub(crate) through: u64,
    /// What is in them.
    pub(crate) contents: Arc<Contents>,
    /// The bytes that count as uncommitted; given back when this is dropped.
    pub(crate) _uncommitted: Option<OwnedSemaphorePermit>,
}

/// The range that acknowledged slots are added to.
pub(crate) struct OpenRange {
    /// The first slot.
    pub(crate) first: u64,
    /// What is in it so far.
    pub(crate) contents: Contents,
    /// The bytes that count as uncommitted.
    pub(crate) uncommitted: Option<OwnedSemaphorePermit>,
    /// When it goes to the uploader though it is not full, by the monotonic clock.
    pub(crate) due: Duration,
}
