//! What something that was interrupted left in a data directory: owns where that is. Guarantees that nothing is called left
//! over which a node reads. Never removes it.

use kelda_env::{Disk, DiskError};

use super::report::Leftover;

/// The directory of temporary files, which every start empties.
pub(super) const TEMPORARY_DIR: &str = "tmp";
/// What a restoration writes before it puts it in its place.
const RESTORATION: [&str; 4] = ["restore.sqlite", "restore.sqlite-wal", "restore.sqlite-shm", "restore.new"];

/// The files; those of a restoration only when none is unfinished.
pub(super) async fn in_directory(disk: &dyn Disk, unfinished: bool) -> Result<Vec<Leftover>, DiskError> {
    let mut found = Vec::new();
    match disk.read_dir(TEMPORARY_DIR).await {
        Ok(names) => found.extend(
            names
                .iter()
                .map(|name| Leftover { file: format!("{TEMPORARY_DIR}/{name}"), what: "a temporary file" }),
        ),
        Err(error) if error.is_not_found() => {}
        Err(error) => return Err(error),
    }
    for name in RESTORATION {
        if !unfinished && disk.exists(name).await? {
            found.push(Leftover { file: name.to_owned(), what: "a restoration" });
        }
    }
    Ok(found)
}
