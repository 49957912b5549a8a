//! Why a directory was not checked.
//!
//! Guarantees that each message names the directory and says what would be right.

use kelda_env::{DiskError, StoreError};

/// A check that did not come to a result.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// There is no such directory.
    #[error("there is no directory {data_dir}: name a data directory with --data-dir")]
    NotFound {
        /// The directory.
        data_dir: String,
    },
    /// Nothing is in it.
    #[error("the directory {data_dir} is empty: no node has stored anything in it")]
    Empty {
        /// The directory.
        data_dir: String,
    },
    /// Something else is in it.
    #[error(
        "{data_dir} is not a data directory of Kelda: it has neither meta/log.sqlite nor wal nor objects"
    )]
    NotADataDir {
        /// The directory.
        data_dir: String,
    },
    /// A node runs on it.
    #[error(
        "the data directory {data_dir} is in use by a running node ({holder}): stop the node, or check a copy"
    )]
    InUse {
        /// The directory.
        data_dir: String,
        /// Who has it.
        holder: String,
    },
    /// It cannot be read.
    #[error("the data directory {data_dir} cannot be read: {detail}")]
    Unreadable {
        /// The directory.
        data_dir: String,
        /// What was tried.
        detail: String,
    },
    /// The object store cannot be opened.
    #[error("{detail}; name the store of this node with --store, as for kelda serve")]
    BadStore {
        /// What was wrong.
        detail: String,
    },
    /// The metadata are read in a copy, and that could not be made.
    #[error(
        "the metadata of {data_dir} cannot be copied to the directory for temporary files: {detail}; name another one \
         with TMPDIR"
    )]
    Scratch {
        /// The directory.
        data_dir: String,
        /// What was tried.
        detail: String,
    },
}

impl CheckError {
    /// What a disk's error means for the check.
    pub(crate) fn disk(data_dir: &str, error: &DiskError) -> CheckError {
        let data_dir = data_dir.to_owned();
        match error {
            DiskError::Locked { holder, .. } => CheckError::InUse { data_dir, holder: holder.clone() },
            _ => CheckError::Unreadable { data_dir, detail: error.to_string() },
        }
    }

    /// What an error of the object store means for the check.
    pub(super) fn store(data_dir: &str, error: &StoreError) -> CheckError {
        CheckError::Unreadable { data_dir: data_dir.to_owned(), detail: error.to_string() }
    }

    /// The copy could not be made.
    pub(super) fn scratch(data_dir: &str, error: &dyn std::error::Error) -> CheckError {
        CheckError::Scratch { data_dir: data_dir.to_owned(), detail: error.to_string() }
    }
}
