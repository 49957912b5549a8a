//! A copy of the metadata database, since SQLite cannot read one that a crash left without writing beside it.
//!
//! Owns the copying. Guarantees that database and log are copied byte for byte, and that damage of the log which SQLite
//! would take for its end is seen on the way. Never changes the original.

use std::path::{Path, PathBuf};

use kelda_env::{Disk, DiskError, OpenMode, RealDisk};
use tempfile::TempDir;

use super::CheckError;
use crate::node::{META_FILE, META_WAL_FILE, meta_wal};

/// Bytes that are copied at once.
const PIECE_BYTES: usize = 1 << 20;
const DATABASE: &str = "log.sqlite";
const DATABASE_WAL: &str = "log.sqlite-wal";

/// A copy, which goes with this value.
pub(super) struct Copy {
    dir: TempDir,
    /// The byte of the database's log at which it is damaged.
    pub(super) wal_damaged_at: Option<u64>,
}

impl Copy {
    /// Where the database is.
    pub(super) fn path(&self) -> PathBuf {
        self.dir.path().join(DATABASE)
    }
}

/// Copies the database of the data directory `disk`.
pub(super) async fn copy(disk: &dyn Disk, data_dir: &str) -> Result<Copy, CheckError> {
    let dir = tempfile::tempdir().map_err(|error| CheckError::scratch(data_dir, &error))?;
    let to = scratch(dir.path(), data_dir)?;
    copy_file(disk, META_FILE, &to, DATABASE, data_dir).await?;
    let unreadable = |error: DiskError| CheckError::disk(data_dir, &error);
    let mut wal_damaged_at = None;
    if disk.exists(META_WAL_FILE).await.map_err(unreadable)? {
        copy_file(disk, META_WAL_FILE, &to, DATABASE_WAL, data_dir).await?;
        wal_damaged_at = meta_wal::damaged_at(disk).await.map_err(unreadable)?;
    }
    Ok(Copy { dir, wal_damaged_at })
}

fn scratch(dir: &Path, data_dir: &str) -> Result<RealDisk, CheckError> {
    RealDisk::open(dir).map_err(|error| CheckError::scratch(data_dir, &error))
}

async fn copy_file(
    disk: &dyn Disk,
    from: &str,
    to: &RealDisk,
    name: &str,
    data_dir: &str,
) -> Result<(), CheckError> {
    let source = disk.open(from, OpenMode::Read).await.map_err(|error| CheckError::disk(data_dir, &error))?;
    let target = to.create(name).await.map_err(|error| CheckError::scratch(data_dir, &error))?;
    let mut at = 0;
    loop {
        let piece = source.read_at(at, PIECE_BYTES).await;
        let piece = piece.map_err(|error| CheckError::disk(data_dir, &error))?;
        if piece.is_empty() {
            return Ok(());
        }
        let written = target.write_at(std::slice::from_ref(&piece), at).await;
        written.map_err(|error| CheckError::scratch(data_dir, &error))?;
        at += piece.len() as u64;
    }
}
