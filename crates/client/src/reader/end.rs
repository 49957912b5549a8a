//! How a reader is and how it ends: owns the states and reasons that a caller sees. Never decides one.

use std::fmt;
use std::sync::Arc;

use crate::error::{CodecError, Error};

/// How a reader is right now.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ReaderState {
    /// Connected, or waiting for new entries.
    Running,
    /// The connection is lost, and it tries to come back.
    Reconnecting,
    /// It takes no new entries; handlers are still at work.
    Stopping,
    /// It has ended.
    Ended(ReaderEnd),
}

impl ReaderState {
    /// Whether entries are handed over, now or when the connection is back.
    #[must_use]
    pub fn is_active(&self) -> bool {
        matches!(self, ReaderState::Running | ReaderState::Reconnecting)
    }
}

/// Why a reader ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ReaderEnd {
    /// It was told to.
    Stopped,
    /// The stream is sealed and all of it is finished.
    Sealed,
    /// All up to where it was to end is finished.
    Reached,
    /// An entry could not be handled. It is still in the stream: a reader from this offset gets it again.
    Failed {
        /// The entry.
        offset: u64,
        /// Why.
        cause: FailureCause,
    },
    /// An entry could not be handled, and neither could its copy be written.
    DeadLetter {
        /// The entry.
        offset: u64,
        /// Why it could not be handled.
        cause: FailureCause,
        /// Why the copy could not be written.
        error: Error,
    },
    /// The position could not be stored.
    Checkpoint {
        /// The last entry that was finished.
        offset: u64,
        /// Why.
        error: Error,
    },
    /// Records that were to be read are gone.
    Gap {
        /// The first offset that is missing.
        from: u64,
        /// The first offset that is held.
        to: u64,
    },
    /// Something else: the stream was deleted or replaced, or the patience for lost connections ended.
    Error(Error),
}

impl ReaderEnd {
    /// Whether it ended by itself and not because all is done.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        !matches!(self, ReaderEnd::Stopped | ReaderEnd::Sealed | ReaderEnd::Reached)
    }

    /// The entry that it is about, if there is one.
    #[must_use]
    pub fn offset(&self) -> Option<u64> {
        match self {
            ReaderEnd::Failed { offset, .. }
            | ReaderEnd::DeadLetter { offset, .. }
            | ReaderEnd::Checkpoint { offset, .. }
            | ReaderEnd::Gap { from: offset, .. } => Some(*offset),
            ReaderEnd::Stopped | ReaderEnd::Sealed | ReaderEnd::Reached | ReaderEnd::Error(_) => None,
        }
    }
}

impl fmt::Display for ReaderEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReaderEnd::Stopped => f.write_str("it was told to stop"),
            ReaderEnd::Sealed => f.write_str("the stream is sealed and all of it is finished"),
            ReaderEnd::Reached => f.write_str("all up to where it was to end is finished"),
            ReaderEnd::Failed { offset, cause } => write!(f, "the entry at offset {offset} failed: {cause}"),
            ReaderEnd::DeadLetter { offset, cause, error } => write!(
                f,
                "the entry at offset {offset} failed ({cause}), and its copy could not be written: {error}"
            ),
            ReaderEnd::Checkpoint { error, .. } | ReaderEnd::Error(error) => error.fmt(f),
            ReaderEnd::Gap { from, to } => write!(f, "the records from offset {from} up to {to} are gone"),
        }
    }
}

/// Why an entry could not be handled.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum FailureCause {
    /// The handler said so.
    Handler(Arc<dyn std::error::Error + Send + Sync>),
    /// The handler panicked, with this message.
    Panic(String),
    /// The payload does not decode.
    Payload(CodecError),
    /// It was dropped without a word on whether it was done.
    Dropped,
}

impl fmt::Display for FailureCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FailureCause::Handler(error) => error.fmt(f),
            FailureCause::Panic(message) => write!(f, "the handler panicked: {message}"),
            FailureCause::Payload(error) => error.fmt(f),
            FailureCause::Dropped => f.write_str("it was dropped without done() or fail()"),
        }
    }
}

/// What a handler may give: nothing, or a result whose error is a failure.
pub trait Outcome {
    /// The result.
    ///
    /// # Errors
    /// When the entry could not be handled.
    fn result(self) -> Result<(), FailureCause>;
}

impl Outcome for () {
    fn result(self) -> Result<(), FailureCause> {
        Ok(())
    }
}

impl<E: Into<Box<dyn std::error::Error + Send + Sync>>> Outcome for Result<(), E> {
    fn result(self) -> Result<(), FailureCause> {
        self.map_err(|error| FailureCause::Handler(Arc::from(error.into())))
    }
}
