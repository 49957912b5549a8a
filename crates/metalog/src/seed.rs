//! The beginning of a log from a state instead of from nothing: owns how a copy of a cluster gets a log. Guarantees that
//! the log is empty before, and that it counts only with its snapshot. Never changes a log that has an entry.

use kelda_format::LogEntry;
use kelda_format::rows::Nonce;
use kelda_meta::State;

use crate::store::{AppendError, FIRST_INDEX, LogError, LogStore};

/// Why a log was not begun.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SeedError {
    /// The first entry was not written.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// The snapshot was not written.
    #[error(transparent)]
    Log(#[from] LogError),
}

/// Begins the empty log `store` with `state`, whose last applied entry is the first of the log. A crash in between leaves
/// the log of an empty cluster: the caller puts it in its place only when it is done.
///
/// # Errors
/// [`SeedError`]; `Taken` when the log has entries.
///
/// # Panics
/// When the state is not one at the first index.
pub async fn seed(store: &dyn LogStore, state: &State, nonce: Nonce) -> Result<(), SeedError> {
    assert_eq!(state.applied(), FIRST_INDEX, "a log begins at its first index");
    let cluster = state.cluster();
    let entry = LogEntry { cluster, session: None, flush: 0, nonce, commands: Vec::new() };
    store.append(FIRST_INDEX, entry.encode()).await?;
    store.put_snapshot(FIRST_INDEX, state.to_snapshot()).await?;
    Ok(())
}
