//! Why a copy was not made.
//!
//! Guarantees that each message names the place or directory concerned and says what would be right.

use kelda_env::{DiskError, StoreError};

use crate::check::CheckError;
use crate::node::StartError;

/// A backup, a restoration or a move that did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// A place is not written as a store's URL.
    #[error("{text}: {reason}")]
    BadUrl {
        /// What was given.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Something is not as it has to be, and nothing was changed.
    #[error("{0}")]
    Refused(String),
    /// The object store fails.
    #[error("{place}: {error}")]
    Store {
        /// Which.
        place: String,
        /// What it said.
        error: StoreError,
    },
    /// The data directory cannot be used.
    #[error(transparent)]
    Directory(#[from] CheckError),
    /// The disk of the data directory fails.
    #[error("the data directory {data_dir}: {error}")]
    Disk {
        /// Which.
        data_dir: String,
        /// What it said.
        error: DiskError,
    },
    /// The node does not start, which it has to in order to recover what it left.
    #[error("what the node left cannot be recovered: {0}")]
    Start(#[from] StartError),
    /// What has to be read is damaged.
    #[error("{0}")]
    Damaged(String),
    /// It failed on the way, and may be repeated.
    #[error("{0}")]
    Failed(String),
}

impl BackupError {
    /// An error of a store.
    pub(super) fn store(place: &str, error: StoreError) -> BackupError {
        BackupError::Store { place: place.to_owned(), error }
    }

    /// An error of a disk.
    pub(super) fn disk(data_dir: &str, error: DiskError) -> BackupError {
        match error {
            DiskError::Locked { .. } => BackupError::Directory(CheckError::disk(data_dir, &error)),
            error => BackupError::Disk { data_dir: data_dir.to_owned(), error },
        }
    }
}
