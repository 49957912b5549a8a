//! Errors of the disk: owns the few kinds that a caller can act on and the mapping from the system's codes to them.
//! Guarantees that an error names path and operation. Never calls a failure success and never guesses: what is not one of
//! the kinds is `Other`, with its cause.

use std::fmt;
use std::io;
use std::sync::Arc;

use rustix::io::Errno;

/// The operation that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the methods")]
pub enum DiskOp {
    Create,
    Allocate,
    Open,
    Read,
    Write,
    Sync,
    ReadDir,
    Remove,
    Rename,
    Link,
    SyncDir,
    CreateDir,
    Stat,
    SetLen,
    Lock,
    Space,
}

impl fmt::Display for DiskOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DiskOp::Create => "create",
            DiskOp::Allocate => "allocate space for",
            DiskOp::Open => "open",
            DiskOp::Read => "read",
            DiskOp::Write => "write",
            DiskOp::Sync => "sync",
            DiskOp::ReadDir => "list directory",
            DiskOp::Remove => "remove",
            DiskOp::Rename => "rename",
            DiskOp::Link => "link",
            DiskOp::SyncDir => "sync directory",
            DiskOp::CreateDir => "create directory",
            DiskOp::Stat => "look at",
            DiskOp::SetLen => "set the length of",
            DiskOp::Lock => "lock",
            DiskOp::Space => "ask for the space of",
        })
    }
}

/// Why an operation on the disk failed. Cheap to clone, so that every waiter of a group can have it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum DiskError {
    /// The medium, the quota or the file size limit is exhausted; free space and try again.
    #[error("cannot {op} {path}: no space left ({detail})")]
    Full {
        /// The file or directory.
        path: String,
        /// What was tried.
        op: DiskOp,
        /// The system's words.
        detail: String,
    },
    /// The medium is mounted read-only or the process may not write.
    #[error("cannot {op} {path}: not writable ({detail})")]
    ReadOnly {
        /// The file or directory.
        path: String,
        /// What was tried.
        op: DiskOp,
        /// The system's words.
        detail: String,
    },
    /// The file or directory does not exist.
    #[error("cannot {op} {path}: it does not exist")]
    NotFound {
        /// The file or directory.
        path: String,
        /// What was tried.
        op: DiskOp,
    },
    /// The name is taken.
    #[error("cannot {op} {path}: it exists already")]
    Exists {
        /// The file or directory.
        path: String,
        /// What was tried.
        op: DiskOp,
    },
    /// Somebody else holds the lock.
    #[error("{path} is locked by {holder}; one data directory serves one process at a time")]
    Locked {
        /// The lock file.
        path: String,
        /// Who holds it, as far as the lock file says.
        holder: String,
    },
    /// A sync failed, now or earlier on this file: it is not known what of it is durable.
    #[error("cannot sync {path}: {detail}; what was written since the last sync may be lost")]
    SyncFailed {
        /// The file or directory.
        path: String,
        /// The system's words.
        detail: String,
    },
    /// Anything else.
    #[error("cannot {op} {path}: {source}")]
    Other {
        /// The file or directory.
        path: String,
        /// What was tried.
        op: DiskOp,
        /// The cause.
        source: Arc<io::Error>,
    },
}

impl DiskError {
    /// The error for what the system answered to `op` on `path`.
    #[must_use]
    pub fn from_io(path: &str, op: DiskOp, source: io::Error) -> DiskError {
        let path = path.to_owned();
        let detail = source.to_string();
        match classify(&source) {
            Class::Full => DiskError::Full { path, op, detail },
            Class::ReadOnly => DiskError::ReadOnly { path, op, detail },
            Class::NotFound => DiskError::NotFound { path, op },
            Class::Exists => DiskError::Exists { path, op },
            Class::Other => DiskError::Other { path, op, source: Arc::new(source) },
        }
    }

    /// The file or directory that the operation was about.
    #[must_use]
    pub fn path(&self) -> &str {
        match self {
            DiskError::Full { path, .. }
            | DiskError::ReadOnly { path, .. }
            | DiskError::NotFound { path, .. }
            | DiskError::Exists { path, .. }
            | DiskError::Locked { path, .. }
            | DiskError::SyncFailed { path, .. }
            | DiskError::Other { path, .. } => path,
        }
    }

    /// Whether space is exhausted.
    #[must_use]
    pub fn is_full(&self) -> bool {
        matches!(self, DiskError::Full { .. })
    }

    /// Whether the file or directory does not exist.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self, DiskError::NotFound { .. })
    }
}

/// The kinds of failure that the system's codes fall into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Full,
    ReadOnly,
    NotFound,
    Exists,
    Other,
}

/// Sorts a failure by its system code. `EFBIG` is a kind of full: the file may not grow.
pub(crate) fn classify(error: &io::Error) -> Class {
    let code = error.raw_os_error().map(Errno::from_raw_os_error);
    match code {
        Some(Errno::NOSPC | Errno::DQUOT | Errno::FBIG) => Class::Full,
        Some(Errno::ROFS | Errno::ACCESS | Errno::PERM) => Class::ReadOnly,
        Some(Errno::NOENT) => Class::NotFound,
        Some(Errno::EXIST) => Class::Exists,
        Some(_) => Class::Other,
        None => match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                Class::Full
            }
            io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => Class::ReadOnly,
            io::ErrorKind::NotFound => Class::NotFound,
            io::ErrorKind::AlreadyExists => Class::Exists,
            _ => Class::Other,
        },
    }
}
