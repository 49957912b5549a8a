//! The disk: owns the ports for the data directory and for one file of it. Guarantees what `docs/assumptions.md` asks of a
//! medium and no more: nothing is durable before `sync_data` (a file) or `sync_dir` (an entry of a directory) answered.
//! Never retries a failed sync.
//!
//! Paths are relative to the root of the disk, with `/` between segments; `""` is the root itself.
//!
//! The real version blocks the calling thread. Callers on a shared executor that do more than a small operation run on a
//! thread of their own (`Tasks::spawn_thread`).

use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

use crate::DiskError;

/// The data directory of one node.
#[async_trait]
pub trait Disk: Send + Sync + 'static {
    /// Creates an empty file and opens it for reading and writing. Its entry is durable after `sync_dir` of the parent.
    ///
    /// # Errors
    /// `Exists` when the name is taken, `NotFound` when the directory is missing, `Full`, `ReadOnly`.
    async fn create(&self, path: &str) -> Result<Arc<dyn DiskFile>, DiskError>;

    /// Creates a file of `len` zero bytes whose space is allocated and whose length is durable, so that writes within it
    /// do not fail for want of space. Its entry is durable after `sync_dir` of the parent. Leaves nothing behind on failure.
    ///
    /// # Errors
    /// As [`Disk::create`].
    async fn create_preallocated(&self, path: &str, len: u64) -> Result<Arc<dyn DiskFile>, DiskError>;

    /// Opens an existing file.
    ///
    /// # Errors
    /// `NotFound`, `ReadOnly`.
    async fn open(&self, path: &str, mode: OpenMode) -> Result<Arc<dyn DiskFile>, DiskError>;

    /// The names in a directory, in byte order, without those of its subdirectories' contents.
    ///
    /// # Errors
    /// `NotFound`.
    async fn read_dir(&self, path: &str) -> Result<Vec<String>, DiskError>;

    /// Removes a file. The removal is durable after `sync_dir` of the parent.
    ///
    /// # Errors
    /// `NotFound`.
    async fn remove(&self, path: &str) -> Result<(), DiskError>;

    /// Removes an empty directory. The removal is durable after `sync_dir` of the parent.
    ///
    /// # Errors
    /// `NotFound`; `Other` when it is not empty.
    async fn remove_dir(&self, path: &str) -> Result<(), DiskError>;

    /// Gives a file another name, replacing a file that has it. Atomic; durable after `sync_dir` of both parents.
    ///
    /// # Errors
    /// `NotFound`.
    async fn rename(&self, from: &str, to: &str) -> Result<(), DiskError>;

    /// Gives a file a second name. Atomic; durable after `sync_dir` of the parent of `to`.
    ///
    /// # Errors
    /// `NotFound`, `Exists`; `Other` where the medium has no hard links.
    async fn link(&self, from: &str, to: &str) -> Result<(), DiskError>;

    /// Makes the entries of a directory durable.
    ///
    /// # Errors
    /// `NotFound`; `SyncFailed` when it is not known what of the directory is durable.
    async fn sync_dir(&self, path: &str) -> Result<(), DiskError>;

    /// Creates a directory and those above it that are missing, durably: no `sync_dir` is needed afterwards. An existing
    /// one is made durable too.
    ///
    /// # Errors
    /// `Full`, `ReadOnly`, `SyncFailed`.
    async fn create_dir_all(&self, path: &str) -> Result<(), DiskError>;

    /// Whether a file or directory of this name is there.
    ///
    /// # Errors
    /// The answer is not known.
    async fn exists(&self, path: &str) -> Result<bool, DiskError>;

    /// The length of a file in bytes.
    ///
    /// # Errors
    /// `NotFound`.
    async fn len(&self, path: &str) -> Result<u64, DiskError>;

    /// Takes the exclusive lock of a lock file, which is created when it is missing. It ends with the guard or the process.
    ///
    /// # Errors
    /// `Locked` when another process, or another guard of this one, has it.
    async fn lock(&self, path: &str) -> Result<LockGuard, DiskError>;

    /// The space of the medium.
    ///
    /// # Errors
    /// The answer is not known.
    async fn space(&self) -> Result<Space, DiskError>;

    /// Where the bytes of `path` really are, for a store that can take a file over without a copy.
    fn place(&self, path: &str) -> Place;

    /// The bytes of a file from its first to its last.
    ///
    /// # Errors
    /// `NotFound`.
    async fn read(&self, path: &str) -> Result<Bytes, DiskError> {
        let file = self.open(path, OpenMode::Read).await?;
        let len = file.len().await?;
        file.read_at(0, usize::try_from(len).unwrap_or(usize::MAX)).await
    }
}

/// One open file.
#[allow(
    clippy::len_without_is_empty,
    reason = "the length of a file is asked for its value, never for emptiness"
)]
#[async_trait]
pub trait DiskFile: Send + Sync + 'static {
    /// Writes the buffers one after the other from `offset` on. Lengthens the file when needed. After a failure it is not
    /// known which of the bytes were written.
    ///
    /// # Errors
    /// `Full`, `ReadOnly`.
    async fn write_at(&self, buffers: &[Bytes], offset: u64) -> Result<(), DiskError>;

    /// Makes the bytes and the length of the file durable (`fdatasync`).
    ///
    /// # Errors
    /// `SyncFailed`, and from then on for ever: after a failed sync no later one proves anything about earlier writes.
    async fn sync_data(&self) -> Result<(), DiskError>;

    /// Reads up to `len` bytes from `offset` on; fewer only at the end of the file.
    ///
    /// # Errors
    /// `Other` when the medium cannot be read.
    async fn read_at(&self, offset: u64, len: usize) -> Result<Bytes, DiskError>;

    /// Cuts the file, or lengthens it with zeros.
    ///
    /// # Errors
    /// `Full`, `ReadOnly`.
    async fn set_len(&self, len: u64) -> Result<(), DiskError>;

    /// The length in bytes.
    ///
    /// # Errors
    /// The answer is not known.
    async fn len(&self) -> Result<u64, DiskError>;
}

/// What a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// Reading only.
    Read,
    /// Reading and writing.
    ReadWrite,
}

/// Space of a medium, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// What this process may still use.
    pub free: u64,
    /// The size of the whole medium.
    pub total: u64,
}

/// Where the bytes of a file really are.
#[derive(Clone, Debug)]
pub enum Place {
    /// At this path of the host's file system.
    Host(PathBuf),
    /// In the memory of a simulated disk.
    Simulated(crate::sim::SimLink),
    /// Nowhere that a store could link to.
    Nowhere,
}

/// Holds a lock until it is dropped.
pub struct LockGuard {
    _held: Box<dyn Any + Send + Sync>,
}

impl LockGuard {
    /// A guard that keeps `held` alive; dropping it must release the lock.
    pub fn new(held: impl Any + Send + Sync) -> LockGuard {
        LockGuard { _held: Box::new(held) }
    }
}

/// The directory part of a path; the root is `""`.
#[must_use]
pub(crate) fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}
