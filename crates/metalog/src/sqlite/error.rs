//! What SQLite's errors mean to the log: owns the translation, guarantees that a failed write to the medium is
//! told apart from a busy or full one, never hides the original text.

use rusqlite::{Error, ErrorCode};

use super::Session;
use crate::store::LogError;

pub(super) fn damaged(detail: impl Into<String>) -> LogError {
    LogError::Damaged(detail.into())
}

pub(super) fn log_error(error: Error) -> LogError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => LogError::Damaged(error.to_string()),
        _ => LogError::Unavailable(error.to_string()),
    }
}

/// Whether SQLite rolled back for certain: it never reached the medium, or the medium refused without harm.
pub(super) fn certainly_not_committed(error: &Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::DiskFull
                | ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::ReadOnly
                | ErrorCode::ConstraintViolation
                | ErrorCode::OutOfMemory
                | ErrorCode::TooBig
        )
    )
}

impl Session {
    /// Refuses to go on after a failed commit: a sync that failed is never tried again.
    pub(super) fn usable(&self) -> Result<(), String> {
        self.broken.clone().map_or(Ok(()), Err)
    }

    /// Notes that a commit failed in a way that leaves its outcome open.
    pub(super) fn break_with(&mut self, error: &Error) -> String {
        let detail = format!("a commit failed: {error}");
        tracing::error!(%error, "the metadata database failed to commit and takes nothing more");
        self.broken = Some(detail.clone());
        detail
    }

    /// Ends a transaction that stores a snapshot.
    pub(super) fn settle(&mut self, committed: Result<(), Error>) -> Result<(), LogError> {
        match committed {
            Err(error) if !certainly_not_committed(&error) => {
                Err(LogError::Unavailable(self.break_with(&error)))
            }
            other => other.map_err(log_error),
        }
    }
}
