//! Positions in files: owns one file per name in one directory. Guarantees that a file is replaced as a whole and is on the
//! disk when a save returns, so that a crash leaves the position before or the one after. Never takes a damaged file for
//! an absent one.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the files are the caller's own, and the client library has no environment to inject"
)]

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::{Checkpoint, Position, StoreError};
use crate::task;

/// A checkpoint in a directory, one small JSON file per name.
///
/// ```no_run
/// # async fn example(kelda: kelda_client::Kelda) -> Result<(), kelda_client::Error> {
/// use kelda_client::FileCheckpoint;
/// let reader = kelda
///     .stream::<serde_json::Value>("events")
///     .from_first()
///     .resume_with(FileCheckpoint::new("/var/lib/billing"), "invoices")
///     .consume(|message| async move { println!("{}", message.payload()) })
///     .await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct FileCheckpoint {
    place: Place,
}

#[derive(Clone, Debug)]
enum Place {
    /// A file per name.
    Directory(PathBuf),
    /// One file, whatever the name.
    File(PathBuf),
}

impl FileCheckpoint {
    /// A checkpoint in `directory`, which is made when something is saved.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>) -> FileCheckpoint {
        FileCheckpoint { place: Place::Directory(directory.into()) }
    }

    /// A checkpoint in this one file, for one reader: the name that it stores under is not looked at.
    #[must_use]
    pub fn of_file(file: impl Into<PathBuf>) -> FileCheckpoint {
        FileCheckpoint { place: Place::File(file.into()) }
    }

    /// The file of a name.
    ///
    /// # Errors
    /// When the name cannot be that of a file.
    fn file(&self, name: &str) -> Result<PathBuf, StoreError> {
        let directory = match &self.place {
            Place::Directory(directory) => directory,
            Place::File(file) => return Ok(file.clone()),
        };
        let sound = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || name.len() > MAX_NAME_BYTES || name.starts_with('.') || !name.chars().all(sound)
        {
            return Err(format!(
                "{name:?} is not usable as a file's name: write 1 to {MAX_NAME_BYTES} of A-Z a-z 0-9 - _ ., no dot first"
            )
            .into());
        }
        Ok(directory.join(format!("{name}.json")))
    }
}

/// Bytes of a name.
const MAX_NAME_BYTES: usize = 100;
/// Bytes of a file; a position has far fewer.
const MAX_FILE_BYTES: u64 = 4096;

impl Checkpoint for FileCheckpoint {
    async fn load(&self, name: &str) -> Result<Option<Position>, StoreError> {
        let file = self.file(name)?;
        task::blocking(move || read(&file)).await.unwrap_or_else(|| Err("the runtime is gone".into()))
    }

    async fn save(&self, name: &str, position: Position) -> Result<(), StoreError> {
        let file = self.file(name)?;
        let written = task::blocking(move || write(&file, position)).await;
        Ok(written.unwrap_or_else(|| Err(io::Error::other("the runtime is gone")))?)
    }
}

fn read(file: &Path) -> Result<Option<Position>, StoreError> {
    let length = match fs::metadata(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        other => other?.len(),
    };
    if length > MAX_FILE_BYTES {
        return Err(format!("{} has {length} bytes and is no checkpoint", file.display()).into());
    }
    let damaged = |error| format!("{} is damaged: {error}", file.display());
    Ok(Some(serde_json::from_slice(&fs::read(file)?).map_err(damaged)?))
}

/// Writes beside, syncs, renames, syncs the directory.
fn write(file: &Path, position: Position) -> io::Result<()> {
    let directory = match file.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        _ => Path::new("."),
    };
    make(directory)?;
    let mut beside = file.as_os_str().to_owned();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    let mut new = File::create(&beside)?;
    let mut text = serde_json::to_vec(&position)?;
    text.push(b'\n');
    new.write_all(&text)?;
    new.sync_all()?;
    drop(new);
    fs::rename(&beside, file)?;
    File::open(directory)?.sync_all()
}

/// Makes a directory and those above it; each is an entry of the one above, which has to be on the disk too.
fn make(directory: &Path) -> io::Result<()> {
    if directory.as_os_str().is_empty() || directory.is_dir() {
        return Ok(());
    }
    let above = match directory.parent() {
        Some(above) if !above.as_os_str().is_empty() => above,
        _ => Path::new("."),
    };
    make(above)?;
    match fs::create_dir(directory) {
        // Another reader may have made it meanwhile.
        Err(error) if error.kind() != ErrorKind::AlreadyExists || !directory.is_dir() => return Err(error),
        _ => {}
    }
    File::open(above)?.sync_all()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use kelda_format::StreamId;

    use super::*;

    #[tokio::test]
    async fn what_was_saved_last_is_loaded() {
        let directory = tempfile::tempdir().unwrap();
        let checkpoint = FileCheckpoint::new(directory.path().join("a/b"));
        assert_eq!(checkpoint.load("x").await.unwrap(), None);
        for offset in [7, u64::MAX, 8] {
            let position = Position { stream_id: StreamId(u64::MAX - 1), offset };
            checkpoint.save("x", position).await.unwrap();
            assert_eq!(checkpoint.load("x").await.unwrap(), Some(position));
        }
        assert_eq!(checkpoint.load("y").await.unwrap(), None);
        let names: Vec<_> =
            fs::read_dir(directory.path().join("a/b")).unwrap().map(|at| at.unwrap().file_name()).collect();
        assert_eq!(names, ["x.json"], "nothing is left beside");
    }

    #[test]
    fn directories_are_made_where_paths_are_relative_too() {
        let directory = tempfile::tempdir().unwrap();
        make(&directory.path().join("a/./b")).unwrap();
        assert!(directory.path().join("a/b").is_dir());
        fs::write(directory.path().join("f"), "").unwrap();
        make(&directory.path().join("f/c")).unwrap_err();
        make(&directory.path().join("f")).unwrap_err();
        make(Path::new("")).unwrap();
        make(Path::new(".")).unwrap();
    }

    #[tokio::test]
    async fn one_file_may_have_any_name() {
        let directory = tempfile::tempdir().unwrap();
        let of = |file: &str| FileCheckpoint::of_file(directory.path().join(file));
        for (offset, file) in [(1, "api.position"), (2, "api.other"), (3, "api")] {
            of(file).save("logs/api", Position { stream_id: StreamId(1), offset }).await.unwrap();
        }
        let loaded = of("api.position").load("whatever").await.unwrap();
        assert_eq!(loaded.map(|position| position.offset), Some(1));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 3, "nothing is left beside");
    }

    #[tokio::test]
    async fn a_damaged_file_is_no_absent_one() {
        let directory = tempfile::tempdir().unwrap();
        let checkpoint = FileCheckpoint::new(directory.path());
        for damaged in ["", "{}", "{\"stream_id\":1,\"offset\":\"x\"}", &"x".repeat(5_000)] {
            fs::write(directory.path().join("x.json"), damaged).unwrap();
            let error = checkpoint.load("x").await.unwrap_err().to_string();
            assert!(error.contains("x.json"), "{error}");
        }
    }

    #[tokio::test]
    async fn names_stay_in_the_directory() {
        let checkpoint = FileCheckpoint::new("/nonexistent");
        let position = Position { stream_id: StreamId(1), offset: 1 };
        for name in ["", "..", ".x", "a/b", "a\\b", "ü", "a\0", &"x".repeat(101)] {
            let error = checkpoint.save(name, position).await.unwrap_err().to_string();
            assert!(error.contains("not usable"), "{error}");
        }
    }
}
