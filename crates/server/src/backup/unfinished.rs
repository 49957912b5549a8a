//! The mark of a restoration that has not come to its end.
//!
//! Owns the file that says so. Guarantees that it is durable before anything is written and goes last, so that no node starts
//! on half of the data. Never says whether a restoration may go on: that is for the one who restores.

use bytes::Bytes;
use kelda_env::{Disk, DiskError};
use serde::{Deserialize, Serialize};

/// The file, in the data directory.
pub(super) const RESTORE_FILE: &str = "restore";
const NEW_FILE: &str = "restore.new";

/// What is being restored, as the file says it in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Unfinished {
    /// The backup.
    pub(super) backup: String,
    /// Where it is.
    pub(super) from: String,
    /// Where the objects go.
    pub(super) store: String,
    /// Whether the marker of that store may have been written.
    pub(super) claiming: bool,
}

/// What there is to say when a restoration into a data directory has not come to its end.
pub(crate) async fn unfinished(disk: &dyn Disk) -> Result<Option<String>, DiskError> {
    if !disk.exists(RESTORE_FILE).await? {
        return Ok(None);
    }
    let what = match read(disk).await? {
        Some(known) => format!("of backup {} from {}", known.backup, known.from),
        None => "of a backup".to_owned(),
    };
    Ok(Some(format!(
        "the restoration {what} was not finished: run the same kelda restore again, or remove the directory"
    )))
}

/// What the file says; none when it is not there or does not read.
pub(super) async fn read(disk: &dyn Disk) -> Result<Option<Unfinished>, DiskError> {
    match disk.read(RESTORE_FILE).await {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes the file, durably.
pub(super) async fn write(disk: &dyn Disk, what: &Unfinished) -> Result<(), DiskError> {
    match disk.remove(NEW_FILE).await {
        Err(error) if !error.is_not_found() => return Err(error),
        _ => {}
    }
    let file = disk.create(NEW_FILE).await?;
    let text = serde_json::to_vec(what).unwrap_or_default();
    file.write_at(&[Bytes::from(text)], 0).await?;
    file.sync_data().await?;
    disk.rename(NEW_FILE, RESTORE_FILE).await?;
    disk.sync_dir("").await
}

/// Removes the file, durably.
pub(super) async fn remove(disk: &dyn Disk) -> Result<(), DiskError> {
    disk.remove(RESTORE_FILE).await?;
    disk.sync_dir("").await
}
