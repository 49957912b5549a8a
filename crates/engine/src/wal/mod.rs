//! The write-ahead log of one session on the local disk: owns its queue, its writer, its segment files and the
//! scan that reads them back. Guarantees P11 and P17 on the writing side. Never reads the metadata, never decides
//! what an entry says.

pub(crate) mod prepare;
pub(crate) mod queue;
pub(crate) mod room;
pub(crate) mod scan;
pub(crate) mod segment;
pub(crate) mod writer;
pub(crate) mod zeros;

use tokio::sync::OwnedSemaphorePermit;

/// The space that one entry holds between acceptance and durability (or its refusal).
#[derive(Debug)]
pub(crate) struct Reserved {
    /// Of the queue before the writer.
    pub(crate) queue: OwnedSemaphorePermit,
    /// Of the bytes that are not committed; outlives durability, given back by the commit.
    pub(crate) uncommitted: OwnedSemaphorePermit,
    /// Of the bytes in flight of its stream.
    pub(crate) stream: OwnedSemaphorePermit,
}

impl Reserved {
    /// Gives back what was reserved beyond the size that the entry turned out to have.
    pub(crate) fn shrink(&mut self, bytes: u64) {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        for permit in [&mut self.queue, &mut self.uncommitted, &mut self.stream] {
            let excess = permit.num_permits().saturating_sub(bytes);
            drop(permit.split(excess));
        }
    }
}
