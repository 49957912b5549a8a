//! Why objects could not be read: owns the three kinds a reader can act on, guarantees that each names the object,
//! never decides whether a missing object is damage.

use kelda_env::StoreError;
use thiserror::Error;

/// Why committed records were not read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub(crate) enum ObjectError {
    /// The store has no such object: compacted away since the view was taken, or damage (P13).
    #[error("object {key} does not exist")]
    Missing { key: String },
    /// The object is not what it should be.
    #[error("object {key} is damaged at byte {position}: {detail}")]
    Damaged { key: String, position: u64, detail: String },
    /// The store does not answer now.
    #[error("{0}")]
    Unavailable(String),
}

impl ObjectError {
    /// What a failed read of bytes at `position` means.
    pub(crate) fn of_store(error: StoreError, position: u64) -> ObjectError {
        match error {
            StoreError::NotFound { key } => ObjectError::Missing { key },
            StoreError::OutOfRange { key, len, end, .. } => {
                let detail = format!("it ends at byte {len}, but has to reach byte {end}");
                ObjectError::Damaged { key, position, detail }
            }
            error => ObjectError::Unavailable(error.to_string()),
        }
    }
}
