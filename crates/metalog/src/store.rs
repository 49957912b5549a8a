//! The port under the metadata log: owns the trait `LogStore` and its errors, guarantees nothing itself (the
//! contract suite in `tests/it/contract` holds every backend to what is written here), never knows what an
//! entry or a snapshot means.
//!
//! Entries have consecutive indices from [`FIRST_INDEX`]. Beside them a backend keeps a *pointer*: the newest
//! snapshot with its index S, and the truncation bound T. Entries below T do not count, whether or not their
//! bytes are still there. T is the index after the *previous* snapshot, so that the newest snapshot can be
//! lost and the state still be rebuilt from the one before it and the log.

use std::fmt;

use async_trait::async_trait;
use bytes::Bytes;

/// The index of the first entry of every log.
pub const FIRST_INDEX: u64 = 1;

/// An ordered log whose only coordination primitive is *append at index i fails if i is taken*.
///
/// Rules P20 to P23: an entry counts, for its writer as for every reader, only if the truncation bound read
/// after the entry was created or fetched is not above it.
#[async_trait]
pub trait LogStore: Send + Sync + fmt::Debug + 'static {
    /// Stores `entry` at `index`, durably; `index` is the one after the last entry that the caller has read.
    ///
    /// Appending the very bytes that are already there succeeds (P8), so a call whose outcome is unknown may be
    /// repeated with the same bytes; an index must never be tried again with others.
    async fn append(&self, index: u64, entry: Bytes) -> Result<(), AppendError>;

    /// At most `limit` entries from `from` on, without holes; empty when `from` is past the last entry.
    ///
    /// # Errors
    /// [`LogError::Truncated`] when `from` lies below the truncation bound, or the entry is gone though a
    /// snapshot holds it: the caller goes on from the newest snapshot.
    async fn read(&self, from: u64, limit: usize) -> Result<Vec<(u64, Bytes)>, LogError>;

    /// The newest snapshot and the index of the last entry in it.
    async fn latest_snapshot(&self) -> Result<Option<(u64, Bytes)>, LogError>;

    /// Stores the state after entry `index`, makes it the newest snapshot unless a newer one exists, and
    /// truncates the log up to the snapshot before it. The pointer never goes back.
    async fn put_snapshot(&self, index: u64, state: Bytes) -> Result<SnapshotPut, LogError>;

    /// Keeps a snapshot that does not decode aside, with the reason, so that nothing deletes it (P22). It also
    /// stays the newest one: a node stops rather than going on without it.
    async fn quarantine(&self, index: u64, reason: &str) -> Result<(), LogError>;

    /// Returns when there may be an entry after `after`: at once, by notification, or after a poll interval.
    /// Never a promise, only a good moment to read.
    async fn wait(&self, after: u64);
}

/// What came of a snapshot that was put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotPut {
    /// It is the newest.
    Newest,
    /// One at this index, not older, was there already; the one that was put is dropped.
    Superseded {
        /// The index of the newest snapshot.
        by: u64,
    },
}

/// Why an entry was not appended, or may not have been.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// Another entry has the index.
    #[error("log index {index} is taken by another entry")]
    Taken {
        /// The index that was asked for.
        index: u64,
    },
    /// The log was truncated past the index: the outcome is unknown until it is looked up (P21).
    #[error("log index {index} lies below the truncation bound {bound}")]
    Truncated {
        /// The index that was asked for.
        index: u64,
        /// The lowest index that counts.
        bound: u64,
    },
    /// The index is not the next one; it would leave a hole. A bug of the caller.
    #[error("log index {index} would leave a hole, the next one is {next}")]
    Hole {
        /// The index that was asked for.
        index: u64,
        /// The index that would have been right.
        next: u64,
    },
    /// Certainly not stored, now or later.
    #[error("the metadata log refused an entry: {0}")]
    Failed(String),
    /// Certainly not stored: the medium has no space left.
    #[error("the metadata log has no space left: {0}")]
    Full(String),
    /// Perhaps stored, perhaps stored later: the same bytes may be sent again, no others.
    #[error("it is not known whether the metadata log took an entry: {0}")]
    Unknown(String),
    /// Perhaps stored, and this handle takes nothing more: the medium failed to make earlier bytes durable, so
    /// what it holds is not known until the log is opened anew.
    #[error("the metadata log cannot be trusted any more and has to be opened anew: {0}")]
    Broken(String),
}

/// Why the log could not be read or its snapshot not be put.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// The entries asked for are below the truncation bound; the newest snapshot holds them.
    #[error("log index {index} lies below the truncation bound {bound}")]
    Truncated {
        /// The index that was asked for.
        index: u64,
        /// The lowest index that counts.
        bound: u64,
    },
    /// The backend does not answer or answered with an error; trying again may help.
    #[error("the metadata log is unavailable: {0}")]
    Unavailable(String),
    /// What is stored contradicts itself; trying again does not help.
    #[error("the metadata log is damaged: {0}")]
    Damaged(String),
    /// The log was written by a newer version of Kelda.
    #[error("the metadata log has layout version {found}, this version of Kelda knows up to {known}")]
    Newer {
        /// The version found.
        found: u32,
        /// The newest version known.
        known: u32,
    },
}
