//! Errors of the object store: owns the few kinds that a caller can act on. Guarantees that an error names the key. Never
//! says that a write did not happen unless that is certain.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A kind of request to a store; `Put` is with and without the condition that the key is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the methods")]
pub enum StoreOp {
    Put,
    Swap,
    Get,
    Head,
    Delete,
    List,
    Adopt,
}

impl StoreOp {
    /// All of them.
    pub const ALL: [StoreOp; 7] = [
        StoreOp::Put,
        StoreOp::Swap,
        StoreOp::Get,
        StoreOp::Head,
        StoreOp::Delete,
        StoreOp::List,
        StoreOp::Adopt,
    ];

    /// Its name in texts, settings and counters.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            StoreOp::Put => "put",
            StoreOp::Swap => "swap",
            StoreOp::Get => "get",
            StoreOp::Head => "head",
            StoreOp::Delete => "delete",
            StoreOp::List => "list",
            StoreOp::Adopt => "adopt",
        }
    }
}

impl fmt::Display for StoreOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why an operation on the store failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no such object. For history this is damage only when the view is at the log's head (P13).
    #[error("object {key} does not exist")]
    NotFound {
        /// The key.
        key: String,
    },
    /// The key was taken when the put ran. Whose bytes they are is not known (P8).
    #[error("object {key} exists already")]
    AlreadyExists {
        /// The key.
        key: String,
    },
    /// The object is shorter than the range that was asked for.
    #[error("object {key} has {len} bytes, but bytes {start} to {end} were asked for")]
    OutOfRange {
        /// The key.
        key: String,
        /// The first byte asked for.
        start: u64,
        /// The byte after the last one asked for.
        end: u64,
        /// The length of the object.
        len: u64,
    },
    /// The store has no space left; free some and try again.
    #[error("cannot {op} object {key}: no space left ({detail})")]
    Full {
        /// The key.
        key: String,
        /// What was tried.
        op: StoreOp,
        /// The store's words.
        detail: String,
    },
    /// The key is not one that every store takes. Nothing was done.
    #[error("object key {key:?} is not valid: {reason}")]
    BadKey {
        /// The key.
        key: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The medium failed while an object was being made durable; the store refuses writes until the process restarts.
    #[error("cannot {op} object {key}: {detail}; the store takes no more writes until it is opened anew")]
    SyncFailed {
        /// The key.
        key: String,
        /// What was tried.
        op: StoreOp,
        /// The first failure.
        detail: String,
    },
    /// The store asks for fewer requests.
    #[error("cannot {op} object {key}: the store asks for fewer requests ({detail})")]
    Throttled {
        /// The key, or the prefix of a listing.
        key: String,
        /// What was tried.
        op: StoreOp,
        /// The store's words.
        detail: String,
        /// How long the store asks to be left alone, when it says.
        wait: Option<Duration>,
    },
    /// No answer came in time. Whether a write took effect is not known (P8), and it may still take effect.
    #[error("cannot {op} object {key}: no answer within {after:?}")]
    TimedOut {
        /// The key, or the prefix of a listing.
        key: String,
        /// What was tried.
        op: StoreOp,
        /// The time that passed.
        after: Duration,
    },
    /// The store refuses the credentials, or what they may do. Nothing was done.
    #[error("cannot {op} object {key}: the store refuses it ({detail})")]
    Denied {
        /// The key, or the prefix of a listing.
        key: String,
        /// What was tried.
        op: StoreOp,
        /// The store's words.
        detail: String,
    },
    /// The object is not the one that was to be replaced. Whose it is is not known (P8).
    #[error("object {key} is not the one that was to be replaced")]
    Stale {
        /// The key.
        key: String,
    },
    /// The store has no such operation. Nothing was done.
    #[error("cannot {op} object {key}: the store has no such operation")]
    Unsupported {
        /// The key.
        key: String,
        /// What was tried.
        op: StoreOp,
    },
    /// Anything else. Whether a write took effect is not known (P8). Worth a retry.
    #[error("cannot {op} object {key}: {source}")]
    Failed {
        /// The key, or the prefix of a listing.
        key: String,
        /// What was tried.
        op: StoreOp,
        /// The cause.
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
}

impl StoreError {
    /// A `Failed` with a cause in words.
    #[must_use]
    pub fn failed(
        key: &str,
        op: StoreOp,
        cause: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> StoreError {
        StoreError::Failed { key: key.to_owned(), op, source: Arc::from(cause.into()) }
    }

    /// Whether there is no such object.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self, StoreError::NotFound { .. })
    }

    /// Whether the key was taken.
    #[must_use]
    pub fn is_already_exists(&self) -> bool {
        matches!(self, StoreError::AlreadyExists { .. })
    }

    /// Whether the object was not the one that was to be replaced.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        matches!(self, StoreError::Stale { .. })
    }

    /// Whether the same request may succeed a little later without anybody doing something about it.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, StoreError::Throttled { .. } | StoreError::TimedOut { .. } | StoreError::Failed { .. })
    }

    /// Whether a write that was answered so may have taken effect, or may still do so (P8).
    #[must_use]
    pub fn is_outcome_unknown(&self) -> bool {
        match self {
            StoreError::NotFound { .. }
            | StoreError::AlreadyExists { .. }
            | StoreError::OutOfRange { .. }
            | StoreError::BadKey { .. }
            | StoreError::Denied { .. }
            | StoreError::Stale { .. }
            | StoreError::Unsupported { .. } => false,
            // A throttled request may have passed through somebody who repeated it.
            StoreError::Full { .. }
            | StoreError::SyncFailed { .. }
            | StoreError::Throttled { .. }
            | StoreError::TimedOut { .. }
            | StoreError::Failed { .. } => true,
        }
    }
}
