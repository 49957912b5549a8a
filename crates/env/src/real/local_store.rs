//! Objects as files of the host's file system: owns the directory of the store. Guarantees that what is acknowledged
//! survives a loss of power, where `object_store` alone leaves holes (`docs/decisions/local-store-durability.md`). Never
//! shares its directory with a writer in another process.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use bytes::Bytes;
use futures::TryStreamExt;
use object_store::local::LocalFileSystem;
use object_store::path::Path as ObjectPath;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt, PutMode};
use parking_lot::Mutex;
use rustix::io::Errno;

use super::disk::RealDisk;
use super::object_files::{self, ObjectFiles};
use crate::disk_error::{Class, classify};
use crate::{Adopted, Disk, DiskError, ObjectInfo, Place, Store, StoreError, StoreOp, check_key};

/// The directories that are known to be durable are remembered up to this number; beyond it they are synced again.
const MAX_KNOWN_DIRECTORIES: usize = 4096;

/// A directory of the host's file system as an object store.
pub struct LocalStore {
    files: LocalFileSystem,
    root: PathBuf,
    objects: Arc<ObjectFiles>,
    known: Arc<Mutex<BTreeSet<PathBuf>>>,
    failed: Arc<OnceLock<String>>,
}

impl LocalStore {
    /// The directory `root` as a store; it is created when missing, durably.
    ///
    /// # Errors
    /// The directory cannot be created or opened.
    pub fn open(root: &Path) -> Result<LocalStore, DiskError> {
        RealDisk::open(root)?;
        let name = root.display().to_string();
        let failed = |error| DiskError::from_io(&name, crate::DiskOp::Open, error);
        let root = root.canonicalize().map_err(failed)?;
        let files =
            LocalFileSystem::new_with_prefix(&root).map_err(|error| failed(io::Error::other(error)))?;
        let (objects, known, failed) = (Arc::default(), Arc::default(), Arc::default());
        Ok(LocalStore { files: files.with_fsync(true), root, objects, known, failed })
    }

    /// Removes what puts that a crash interrupted left behind and answers how many files that were. Only for the one
    /// process that owns the directory, before its first put.
    ///
    /// # Errors
    /// A directory cannot be read or a file not be removed.
    pub async fn remove_leftovers(&self) -> Result<u64, StoreError> {
        let root = self.root.clone();
        blocking("", StoreOp::List, move || {
            remove_staged(&root).map_err(|error| failure("", StoreOp::Delete, error))
        })
        .await
    }

    /// What puts that a crash interrupted left behind, as paths below the directory, in byte order.
    ///
    /// # Errors
    /// A directory cannot be read.
    pub async fn leftovers(&self) -> Result<Vec<String>, StoreError> {
        let root = self.root.clone();
        blocking("", StoreOp::List, move || {
            let mut found = Vec::new();
            staged(&root, &mut found).map_err(|error| failure("", StoreOp::List, error))?;
            let below = |path: &PathBuf| path.strip_prefix(&root).unwrap_or(path).display().to_string();
            let mut names: Vec<String> = found.iter().map(below).collect();
            names.sort_unstable();
            Ok(names)
        })
        .await
    }

    /// Refuses writes after the medium failed to make something durable.
    fn writable(&self, key: &str, op: StoreOp) -> Result<(), StoreError> {
        match self.failed.get() {
            Some(detail) => Err(StoreError::SyncFailed { key: key.to_owned(), op, detail: detail.clone() }),
            None => Ok(()),
        }
    }

    /// What a failed write means. An error of the medium leaves it open whether a directory entry that can be seen is
    /// durable, and asking again would answer "exists": so the store takes no more writes.
    fn failed_write(&self, key: &str, op: StoreOp, error: StoreError) -> StoreError {
        let StoreError::Failed { source, .. } = &error else { return error };
        let tame = [
            Errno::MFILE,
            Errno::NFILE,
            Errno::NOMEM,
            Errno::INTR,
            Errno::NAMETOOLONG,
            Errno::NOTDIR,
            Errno::ISDIR,
            Errno::MLINK,
            Errno::XDEV,
            Errno::OPNOTSUPP,
            Errno::ROFS,
            Errno::ACCESS,
            Errno::PERM,
            Errno::NOENT,
        ];
        match io_cause(&**source).and_then(io::Error::raw_os_error) {
            Some(code) if !tame.contains(&Errno::from_raw_os_error(code)) => {
                self.sync_failed(key, op, source.to_string())
            }
            _ => error,
        }
    }

    fn sync_failed(&self, key: &str, op: StoreOp, detail: String) -> StoreError {
        let detail = self.failed.get_or_init(|| detail).clone();
        tracing::error!(key, %op, %detail, "the store's medium failed; no more writes");
        StoreError::SyncFailed { key: key.to_owned(), op, detail }
    }

    /// Makes the directory of an object exist, durably with all of its ancestors.
    async fn ensure_parent(&self, key: &str, op: StoreOp) -> Result<(), StoreError> {
        let levels: Vec<PathBuf> = self.levels(key);
        let (known, root) = (self.known.clone(), self.root.clone());
        if levels.last().is_none_or(|dir| known.lock().contains(dir)) {
            return Ok(());
        }
        let name = key.to_owned();
        let made = blocking(key, op, move || {
            for dir in &levels {
                match std::fs::create_dir(dir) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                        return Err(failure(&name, op, error));
                    }
                    _ => {}
                }
                sync_parent(dir, &root).map_err(|error| failure(&name, op, error))?;
            }
            let mut known = known.lock();
            if known.len() + levels.len() > MAX_KNOWN_DIRECTORIES {
                known.clear();
            }
            known.extend(levels);
            Ok(())
        });
        made.await.map_err(|error| self.failed_write(key, op, error))
    }

    /// The directories between the root and the object, the outermost first.
    fn levels(&self, key: &str) -> Vec<PathBuf> {
        key.match_indices('/').map(|(at, _)| self.root.join(&key[..at])).collect()
    }

    /// Deletes an object, which is durable when its entry is synced. A missing one is none to delete, but may be one whose
    /// deletion was not synced.
    async fn remove(&self, key: &str) -> Result<(), StoreError> {
        check_key(key)?;
        self.writable(key, StoreOp::Delete)?;
        let answer = self.files.delete(&ObjectPath::from(key)).await;
        self.objects.forget(key);
        match answer.map_err(|error| store_error(key, StoreOp::Delete, error)) {
            Ok(()) | Err(StoreError::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.failed_write(key, StoreOp::Delete, error)),
        }
    }

    /// Syncs the directory that holds an object.
    async fn sync_entry(&self, key: &str, op: StoreOp) -> Result<(), StoreError> {
        let (path, root, name) = (self.root.join(key), self.root.clone(), key.to_owned());
        let synced = blocking(key, op, move || match sync_parent(&path, &root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other.map_err(|error| failure(&name, op, error)),
        });
        synced.await.map_err(|error| self.failed_write(key, op, error))
    }

    async fn write(&self, key: &str, body: Bytes, mode: PutMode, op: StoreOp) -> Result<(), StoreError> {
        check_key(key)?;
        self.writable(key, op)?;
        self.ensure_parent(key, op).await?;
        let answer = self.files.put_opts(&ObjectPath::from(key), body.into(), mode.into()).await;
        self.objects.forget(key);
        match answer {
            Ok(_) => Ok(()),
            Err(error) => self.refused(key, op, store_error(key, op, error)).await,
        }
    }

    /// The answer to a write that failed. Whoever reads "exists" may take it for durable, so it is made so first.
    async fn refused(&self, key: &str, op: StoreOp, error: StoreError) -> Result<(), StoreError> {
        if error.is_already_exists() {
            self.sync_entry(key, op).await?;
        }
        Err(self.failed_write(key, op, error))
    }

    /// Gives the file `from` a second name; `false` when the file system cannot.
    async fn link(&self, from: PathBuf, key: &str) -> Result<bool, StoreError> {
        let (to, name) = (self.root.join(key), key.to_owned());
        blocking(key, StoreOp::Adopt, move || match std::fs::hard_link(from, to) {
            Ok(()) => Ok(true),
            Err(error) => match error.raw_os_error().map(Errno::from_raw_os_error) {
                Some(Errno::XDEV | Errno::PERM | Errno::MLINK | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(false),
                _ => Err(failure(&name, StoreOp::Adopt, error)),
            },
        })
        .await
    }
}

#[async_trait]
impl Store for LocalStore {
    async fn put_if_absent(&self, key: &str, body: Bytes) -> Result<(), StoreError> {
        self.write(key, body, PutMode::Create, StoreOp::Put).await
    }

    async fn put(&self, key: &str, body: Bytes) -> Result<(), StoreError> {
        self.write(key, body, PutMode::Overwrite, StoreOp::Put).await
    }

    async fn get(&self, key: &str) -> Result<Bytes, StoreError> {
        check_key(key)?;
        let failed = |error| store_error(key, StoreOp::Get, error);
        self.files.get(&ObjectPath::from(key)).await.map_err(failed)?.bytes().await.map_err(failed)
    }

    async fn get_range(&self, key: &str, range: Range<u64>) -> Result<Bytes, StoreError> {
        check_key(key)?;
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        let parts = self.get_ranges(key, std::slice::from_ref(&range)).await?;
        parts.into_iter().next().ok_or_else(|| StoreError::failed(key, StoreOp::Get, "no answer"))
    }

    async fn get_ranges(&self, key: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>, StoreError> {
        check_key(key)?;
        let open = self.objects.get(key);
        if let Some(parts) = open.as_ref().and_then(|file| object_files::read_now(file, ranges)) {
            return Ok(parts);
        }
        let (objects, path, name) = (Arc::clone(&self.objects), self.root.join(key), key.to_owned());
        let ranges = ranges.to_vec();
        blocking(key, StoreOp::Get, move || {
            let failed = |error| failure(&name, StoreOp::Get, error);
            let file = open.map_or_else(|| objects.open(&name, &path), Ok).map_err(failed)?;
            let part = |range: &Range<u64>| {
                let bytes = object_files::read(&file, range).map_err(failed)?;
                if (bytes.len() as u64) < range.end - range.start {
                    let (start, end, len) = (range.start, range.end, file.metadata().map_err(failed)?.len());
                    return Err(StoreError::OutOfRange { key: name.clone(), start, end, len });
                }
                Ok(bytes)
            };
            ranges.iter().map(part).collect()
        })
        .await
    }

    async fn head(&self, key: &str) -> Result<Option<ObjectInfo>, StoreError> {
        check_key(key)?;
        match self
            .files
            .head(&ObjectPath::from(key))
            .await
            .map_err(|error| store_error(key, StoreOp::Head, error))
        {
            Ok(meta) => Ok(Some(info(meta))),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn delete(&self, key: &str) -> Result<(), StoreError> {
        self.remove(key).await?;
        self.sync_entry(key, StoreOp::Delete).await
    }

    /// Makes the deletions of one directory durable together: a log in the store is deleted by hundreds of slots.
    async fn delete_many(&self, keys: &[String]) -> Result<(), StoreError> {
        let mut in_directory: BTreeMap<&str, &str> = BTreeMap::new();
        for key in keys {
            self.remove(key).await?;
            in_directory.insert(key.rsplit_once('/').map_or("", |(directory, _)| directory), key);
        }
        for key in in_directory.into_values() {
            self.sync_entry(key, StoreOp::Delete).await?;
        }
        Ok(())
    }

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>, StoreError> {
        let within = match prefix {
            "" => None,
            _ => Some(ObjectPath::from(crate::store::check_prefix(prefix)?)),
        };
        let found = self.files.list(within.as_ref()).try_collect::<Vec<_>>().await;
        let found = found.map_err(|error| store_error(prefix, StoreOp::List, error))?;
        let mut objects: Vec<ObjectInfo> = found.into_iter().map(info).collect();
        objects.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        Ok(objects)
    }

    async fn adopt(&self, disk: &dyn Disk, path: &str, key: &str) -> Result<Adopted, StoreError> {
        check_key(key)?;
        self.writable(key, StoreOp::Adopt)?;
        self.ensure_parent(key, StoreOp::Adopt).await?;
        if let Place::Host(file) = disk.place(path) {
            match self.link(file, key).await {
                Ok(true) => {
                    self.sync_entry(key, StoreOp::Adopt).await?;
                    return Ok(Adopted::Linked);
                }
                Ok(false) => {}
                Err(error) => {
                    self.refused(key, StoreOp::Adopt, error).await?;
                }
            }
        }
        let body = disk.read(path).await.map_err(|error| crate::store::adopt_error(key, error))?;
        self.write(key, body, PutMode::Create, StoreOp::Adopt).await?;
        Ok(Adopted::Copied)
    }
}

/// What the file system says of an object. Without a tag: nothing there can be replaced by one that is compared.
fn info(meta: ObjectMeta) -> ObjectInfo {
    let modified = u64::try_from(meta.last_modified.timestamp_millis()).unwrap_or(0);
    ObjectInfo { key: meta.location.into(), len: meta.size, modified, tag: None }
}

/// Syncs the directory that holds `path`, unless that lies outside the store.
fn sync_parent(path: &Path, root: &Path) -> io::Result<()> {
    match path.parent() {
        Some(dir) if dir.starts_with(root) => std::fs::File::open(dir)?.sync_all(),
        _ => Ok(()),
    }
}

/// Runs file operations where they may block.
async fn blocking<T, F>(key: &str, op: StoreOp, work: F) -> Result<T, StoreError>
where
    T: Send + 'static,
    F: FnOnce() -> Result<T, StoreError> + Send + 'static,
{
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => match runtime.spawn_blocking(work).await {
            Ok(result) => result,
            Err(error) => Err(StoreError::failed(key, op, error)),
        },
        Err(_) => work(),
    }
}

/// The error of the file system in a chain of causes.
fn io_cause<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a io::Error> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        match error.downcast_ref::<io::Error>() {
            Some(found) => return Some(found),
            None => cause = error.source(),
        }
    }
    None
}

fn failure(key: &str, op: StoreOp, error: io::Error) -> StoreError {
    let named = key.to_owned();
    match classify(&error) {
        Class::Full => StoreError::Full { key: named, op, detail: error.to_string() },
        Class::NotFound => StoreError::NotFound { key: named },
        Class::Exists => StoreError::AlreadyExists { key: named },
        Class::ReadOnly | Class::Other => StoreError::failed(key, op, error),
    }
}

fn store_error(key: &str, op: StoreOp, error: object_store::Error) -> StoreError {
    let named = key.to_owned();
    match error {
        object_store::Error::NotFound { .. } => StoreError::NotFound { key: named },
        object_store::Error::AlreadyExists { .. } => StoreError::AlreadyExists { key: named },
        other => match io_cause(&other) {
            Some(cause) if classify(cause) == Class::Full => {
                StoreError::Full { key: named, op, detail: cause.to_string() }
            }
            _ => StoreError::failed(key, op, other),
        },
    }
}

/// Removes the files that `object_store` writes to before it gives them their name.
fn remove_staged(dir: &Path) -> io::Result<u64> {
    let mut found = Vec::new();
    staged(dir, &mut found)?;
    for path in &found {
        std::fs::remove_file(path)?;
    }
    Ok(found.len() as u64)
}

/// Those files: `<name>#<digits>`.
fn staged(dir: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() {
            staged(&entry.path(), found)?;
        } else if name.rsplit_once('#').is_some_and(|(_, digits)| digits.bytes().all(|b| b.is_ascii_digit()))
        {
            found.push(entry.path());
        }
    }
    Ok(())
}
