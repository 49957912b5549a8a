//! Why a node does not start.
//!
//! Guarantees that each message names the data directory or the setting, and what would be right.

use kelda_env::{DiskError, DiskOp};
use kelda_metalog::{AppendError, LogError, OpenError, Stop};

use crate::net::BindError;

/// A node that does not start. Nothing was changed, unless the message says so.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A listener that others could reach, without anything that tells them apart.
    #[error(
        "--{setting} {address} can be reached from other machines, and no authentication is configured: listen on \
         127.0.0.1 or [::1], or pass --allow-anonymous to let everybody in"
    )]
    Exposed {
        /// The setting.
        setting: &'static str,
        /// Its value.
        address: String,
    },
    /// An address that cannot be listened on.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// Another process uses the data directory.
    #[error(
        "the data directory {data_dir} is in use by another process ({holder}): stop that one, or choose another --data-dir"
    )]
    InUse {
        /// The directory.
        data_dir: String,
        /// Who has it.
        holder: String,
    },
    /// The data directory cannot be written.
    #[error(
        "the data directory {data_dir} is read-only: {detail}; make it writable for this user, or choose another --data-dir"
    )]
    ReadOnly {
        /// The directory.
        data_dir: String,
        /// What was tried.
        detail: String,
    },
    /// Something else than a directory has the name of the data directory, or of one above it.
    #[error(
        "the data directory {data_dir} cannot be made: {data_dir} or what lies above it is a file; name a directory with \
         --data-dir, which is created when it is missing"
    )]
    NotDirectory {
        /// The directory.
        data_dir: String,
    },
    /// No space.
    #[error("the data directory {data_dir} has no space left: {detail}; free some and start again")]
    Full {
        /// The directory.
        data_dir: String,
        /// What was tried.
        detail: String,
    },
    /// Written by a newer version.
    #[error("the data directory {data_dir} was written by a newer version of Kelda: {detail}")]
    Newer {
        /// The directory.
        data_dir: String,
        /// What was found.
        detail: String,
    },
    /// Parts of two clusters.
    #[error(
        "the data directory {data_dir} holds data of another cluster: {detail}; was it put together from two?"
    )]
    OtherCluster {
        /// The directory.
        data_dir: String,
        /// What was found.
        detail: String,
    },
    /// Something that was written does not read.
    #[error("the data directory {data_dir} is damaged: {detail}")]
    Damaged {
        /// The directory.
        data_dir: String,
        /// What was found, and where.
        detail: String,
    },
    /// The object store is not one that this node can use.
    #[error("the object store {store} cannot be used: {detail}")]
    Store {
        /// The store.
        store: String,
        /// What was found, and what would be right.
        detail: String,
    },
    /// Anything else about the data directory.
    #[error("the data directory {data_dir} cannot be used: {detail}")]
    Unusable {
        /// The directory.
        data_dir: String,
        /// What was found.
        detail: String,
    },
}

impl StartError {
    /// What a disk's error means for the start.
    pub(crate) fn disk(data_dir: &str, error: &DiskError) -> StartError {
        let (data_dir, detail) = (data_dir.to_owned(), error.to_string());
        match error {
            DiskError::Exists { op: DiskOp::CreateDir, path } if *path == data_dir => {
                StartError::NotDirectory { data_dir }
            }
            DiskError::Other { op: DiskOp::CreateDir, path, source }
                if *path == data_dir && source.kind() == std::io::ErrorKind::NotADirectory =>
            {
                StartError::NotDirectory { data_dir }
            }
            DiskError::Locked { holder, .. } => StartError::InUse { data_dir, holder: holder.clone() },
            DiskError::ReadOnly { .. } => StartError::ReadOnly { data_dir, detail },
            DiskError::Full { .. } => StartError::Full { data_dir, detail },
            _ => StartError::Unusable { data_dir, detail },
        }
    }

    /// What an error of the metadata log means for the start.
    pub(super) fn log(data_dir: &str, error: &LogError) -> StartError {
        let (data_dir, detail) = (data_dir.to_owned(), error.to_string());
        match error {
            LogError::Newer { .. } => StartError::Newer { data_dir, detail },
            LogError::Damaged { .. } => StartError::Damaged { data_dir, detail },
            _ => StartError::Unusable { data_dir, detail },
        }
    }

    /// What an unreadable metadata log means for the start.
    pub(super) fn open(data_dir: &str, error: &OpenError) -> StartError {
        let (data_dir, detail) = (data_dir.to_owned(), error.to_string());
        match error {
            OpenError::Log(error) => StartError::log(&data_dir, error),
            OpenError::Stored(Stop::Newer { .. }) => StartError::Newer { data_dir, detail },
            OpenError::Stored(Stop::OtherCluster { .. }) => StartError::OtherCluster { data_dir, detail },
            OpenError::Stored(_) => StartError::Damaged { data_dir, detail },
            OpenError::Begin(AppendError::Full(_)) => StartError::Full { data_dir, detail },
            OpenError::Begin(_) => StartError::Unusable { data_dir, detail },
        }
    }

    /// What an engine that does not start means.
    pub(super) fn engine(data_dir: &str, error: &kelda_engine::StartError) -> StartError {
        use kelda_engine::StartError as Engine;
        let (data_dir, detail) = (data_dir.to_owned(), error.to_string());
        match error {
            Engine::Corrupt { .. } => StartError::Damaged { data_dir, detail },
            Engine::Newer { .. } => StartError::Newer { data_dir, detail },
            Engine::Foreign { .. } => StartError::OtherCluster { data_dir, detail },
            Engine::DiskFull { .. } => StartError::Full { data_dir, detail },
            Engine::OtherNode { .. } | Engine::NotAlone { .. } | Engine::Meta(_) | Engine::Storage(_) => {
                StartError::Unusable { data_dir, detail }
            }
        }
    }
}
