//! Moving a stopped node to another object store.
//!
//! Owns the order: recover and commit, copy, then the marker. Guarantees that the new store counts only when it has
//! everything, that it can be asked for again after an interruption, and that neither the metadata nor the old store is
//! changed by the move. Never starts the node on the new store.

use std::collections::BTreeSet;
use std::path::Path;

use bytes::Bytes;
use kelda_env::StoreError;
use kelda_format::ClusterId;
use kelda_format::keys::{MARKER_KEY, decode_marker, encode_marker};
use kelda_format::rows::ObjectRow;

use super::copy::{Copied, Copier};
use super::{BackupError, Place, Progress, Stage, settle};

/// What was moved.
#[derive(Clone, Debug)]
pub struct Migrated {
    /// The cluster.
    pub cluster: ClusterId,
    /// Where the objects were, and still are.
    pub from: String,
    /// Where they are now too.
    pub to: String,
    /// What was copied, and what of it is missing or damaged.
    pub copied: Copied,
    /// Whether the new store had its marker before.
    pub was_there: bool,
}

/// Copies everything that the stopped node of `data_dir` reads from `store`, which is in that directory when none is named, to
/// the store `to`.
///
/// # Errors
/// [`BackupError`]; the same may be asked for again.
pub async fn migrate(
    data_dir: &Path,
    store: Option<&str>,
    to: &str,
    progress: &Progress,
) -> Result<Migrated, BackupError> {
    let stopped = settle::settle(data_dir, store, progress).await?;
    let to = Place::open(&stopped.env, to).await?;
    let cluster = stopped.state.cluster();
    let was_there = is_claimed(&to, cluster).await?;
    let objects: Vec<ObjectRow> = stopped.state.objects().copied().collect();
    let copier = Copier { env: &stopped.env, from: &stopped.store, to: &to, cluster, progress };
    let copied = copier.run(&objects, &BTreeSet::new()).await?;
    progress.enter(Stage::Finishing);
    if !was_there {
        let marker = Bytes::copy_from_slice(&encode_marker(cluster));
        match to.store.put_if_absent(MARKER_KEY, marker).await {
            Ok(()) | Err(StoreError::AlreadyExists { .. }) => {}
            Err(error) if error.is_outcome_unknown() => {}
            Err(error) => return Err(BackupError::store(&to.name, error)),
        }
        // What is there decides (P8).
        if !is_claimed(&to, cluster).await? {
            return Err(BackupError::Failed(format!("{}: the marker was written and is not there", to.name)));
        }
    }
    Ok(Migrated { cluster, from: stopped.store.name.clone(), to: to.name, copied, was_there })
}

/// Whether a store has the marker of `cluster`; an error when it has another one.
async fn is_claimed(to: &Place, cluster: ClusterId) -> Result<bool, BackupError> {
    let refused = |what: String| BackupError::Refused(format!("{}: {what}; name another store", to.name));
    match to.store.get(MARKER_KEY).await {
        Ok(bytes) => match decode_marker(&bytes) {
            Ok(found) if found == cluster => Ok(true),
            Ok(found) => Err(refused(format!("it belongs to cluster {found}"))),
            Err(error) => Err(refused(format!("object {MARKER_KEY}: {error}"))),
        },
        Err(error) if error.is_not_found() => Ok(false),
        Err(error) => Err(BackupError::store(&to.name, error)),
    }
}
