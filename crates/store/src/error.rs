//! What an error of a service means: owns the translation. Guarantees that an object is called missing, taken or another
//! only when the service said so of the object itself. Never guesses that a write did not happen.

use std::error::Error as _;

use kelda_env::{StoreError, StoreOp};
use object_store::Error;

use crate::http::Seen;

/// What services say of their errors is cut to this number of characters.
const MAX_DETAIL: usize = 400;
/// A service says with these words that it is the bucket that is missing.
const NO_BUCKET: [&str; 4] =
    ["NoSuchBucket", "ContainerNotFound", "bucket does not exist", "container does not exist"];

/// Translates the error of one call.
pub(crate) fn translate(key: &str, op: StoreOp, error: Error, seen: Option<Seen>) -> StoreError {
    let named = key.to_owned();
    let detail = detail(&error);
    let no_bucket = NO_BUCKET.iter().any(|words| detail.contains(words));
    let status = seen.map_or(0, |seen| seen.status);
    match error {
        Error::NotFound { .. } if !no_bucket && matches!(op, StoreOp::Get | StoreOp::Head) => {
            StoreError::NotFound { key: named }
        }
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => {
            StoreError::Denied { key: named, op, detail }
        }
        // Another request on the same key is under way, which says nothing of how it ends (P8).
        Error::AlreadyExists { .. } if status == 409 && detail.contains("ConditionalRequestConflict") => {
            StoreError::failed(key, op, detail)
        }
        Error::AlreadyExists { .. } if matches!(op, StoreOp::Put | StoreOp::Adopt) => {
            StoreError::AlreadyExists { key: named }
        }
        Error::Precondition { .. } if op == StoreOp::Swap => StoreError::Stale { key: named },
        Error::NotImplemented { .. } | Error::NotSupported { .. } => {
            StoreError::Unsupported { key: named, op }
        }
        _ => match status {
            429 | 503 => throttled(named, op, detail, seen),
            401 | 403 => StoreError::Denied { key: named, op, detail },
            400 if detail.contains("ExpiredToken") || detail.contains("InvalidToken") => {
                StoreError::Denied { key: named, op, detail }
            }
            // Some say it in the body of a success.
            _ if detail.contains("SlowDown") => throttled(named, op, detail, seen),
            _ => StoreError::failed(key, op, detail),
        },
    }
}

fn throttled(key: String, op: StoreOp, detail: String, seen: Option<Seen>) -> StoreError {
    StoreError::Throttled { key, op, detail, wait: seen.and_then(|seen| seen.retry_after) }
}

/// The words of an error and of what is behind it, on one line. Callers of `object_store` see causes twice: once in the
/// text of an error and once as its source, so that a source which is told already is left out.
fn detail(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = error.source();
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(MAX_DETAIL) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}
