//! The write-ahead log of one session: owns what appends see of it, whichever kind it is. Guarantees that an entry is
//! accepted whole or not at all, in the order of acceptance. Never does I/O itself: each kind has a writer for that.

pub(crate) mod local;
pub(crate) mod store;

use std::sync::Arc;

use kelda_format::wal::StreamSection;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::futures::Notified;

use crate::stream::OpenStream;
use local::queue::WalQueue;
use store::queue::SlotQueue;

/// The queue of the session's kind of log. Numbers of segments and of entries are told apart by nobody outside: they only
/// say how far the session has to be committed.
pub(crate) enum Wal {
    /// In segment files of the data directory.
    Local(Arc<WalQueue>),
    /// In the object store, an object per group.
    Store(Arc<SlotQueue>),
}

/// What an append offers to the queue.
pub(crate) struct Offer {
    pub(crate) stream: Arc<OpenStream>,
    pub(crate) ordinal: u64,
    pub(crate) sections: Vec<StreamSection>,
    pub(crate) bytes: u64,
    pub(crate) index_bytes: u64,
    pub(crate) reserved: Reserved,
}

/// Why the queue did not take an entry; nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The next segment is not prepared yet.
    NoRoom,
    /// The next segment cannot be prepared: the device is full.
    DiskFull,
    /// The session ended or closes.
    Ended,
}

impl Wal {
    /// Accepts an entry, or refuses it without having changed anything. Called under the lock of the stream, so
    /// that the order in the WAL is the order of offsets.
    pub(crate) fn hand_over(&self, offer: Offer) -> Result<(), (Refused, Offer)> {
        match self {
            Wal::Local(queue) => queue.hand_over(offer),
            Wal::Store(queue) => queue.hand_over(offer),
        }
    }

    /// Wakes when what was refused for want of room may be tried again; create it before looking.
    pub(crate) fn room_made(&self) -> Notified<'_> {
        match self {
            Wal::Local(queue) => queue.room_made(),
            Wal::Store(queue) => queue.room_made(),
        }
    }

    /// Has everything that was accepted uploaded soon. Returns what has to be committed for that; nothing when there is
    /// nothing to commit.
    pub(crate) fn flush(&self) -> Option<u64> {
        match self {
            Wal::Local(queue) => queue.seal_filling(),
            Wal::Store(queue) => queue.flush(),
        }
    }

    /// Accepts nothing more and lets the writer finish. Returns as [`Wal::flush`] does.
    pub(crate) fn close(&self) -> Option<u64> {
        match self {
            Wal::Local(queue) => queue.close(),
            Wal::Store(queue) => queue.close(),
        }
    }

    /// Accepts and hands out nothing more, at once.
    pub(crate) fn end(&self) {
        match self {
            Wal::Local(queue) => queue.end(),
            Wal::Store(queue) => queue.end(),
        }
    }

    /// Bytes that nothing uploads before more comes or a flush is asked for.
    pub(crate) fn filled_bytes(&self) -> u64 {
        match self {
            Wal::Local(queue) => queue.filled_bytes(),
            Wal::Store(queue) => queue.filled_bytes(),
        }
    }

    /// Says whether there is no space for more on the disk; a log in the store has no use for that.
    pub(crate) fn set_disk_full(&self, full: bool) {
        if let Wal::Local(queue) = self {
            queue.set_disk_full(full);
        }
    }
}

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
