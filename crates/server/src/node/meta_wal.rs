//! SQLite's own write-ahead log of the metadata.
//!
//! Owns the look at it before SQLite opens it. Guarantees that commits behind a damaged frame, which SQLite would drop in
//! silence, are noticed. Never changes it, never judges: that is the metadata log's.

use kelda_env::{Disk, DiskError, OpenMode};
use kelda_metalog::sqlite::{WAL_HEADER_BYTES, WalFile};

use super::META_WAL_FILE;

/// Bytes that are read at once.
const PIECE_BYTES: usize = 1 << 20;

/// The byte at which it is damaged, if it is. A file that is not there is not.
///
/// # Errors
/// It cannot be read.
pub(crate) async fn damaged_at(disk: &dyn Disk) -> Result<Option<u64>, DiskError> {
    let file = match disk.open(META_WAL_FILE, OpenMode::Read).await {
        Err(error) if error.is_not_found() => return Ok(None),
        opened => opened?,
    };
    let Some(mut wal) = WalFile::begin(&file.read_at(0, WAL_HEADER_BYTES).await?) else { return Ok(None) };
    let frame_bytes = wal.frame_bytes();
    // Whole frames per read.
    let piece = (PIECE_BYTES / frame_bytes).max(1) * frame_bytes;
    let mut at = WAL_HEADER_BYTES as u64;
    loop {
        let bytes = file.read_at(at, piece).await?;
        bytes.chunks_exact(frame_bytes).for_each(|frame| wal.frame(frame));
        if bytes.len() < piece {
            return Ok(wal.damaged_at());
        }
        at += bytes.len() as u64;
    }
}
