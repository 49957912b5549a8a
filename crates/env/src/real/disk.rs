//! A directory of the host's file system as a disk: owns opening, naming, locking and directory syncs. Guarantees the
//! durability that the port states, by `fsync` of the directories named there. Never leaves the root: paths that would are
//! refused.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use rustix::fs::{FallocateFlags, FlockOperation, fallocate, flock, statvfs};
use rustix::io::Errno;

use super::file::RealFile;
use crate::disk::parent;
use crate::{Disk, DiskError, DiskFile, DiskOp, LockGuard, OpenMode, Place, Space};

/// Zeros are written in pieces of this size where the file system cannot allocate space without them.
const ZEROS_BYTES: usize = 256 * 1024;

/// A lock file says who holds it in at most this many bytes.
const HOLDER_BYTES: u64 = 256;

/// A directory of the host's file system.
pub struct RealDisk {
    root: PathBuf,
    read_only: bool,
}

impl RealDisk {
    /// The directory `root` as a disk; it and those above it are created when missing, durably.
    ///
    /// # Errors
    /// The directory cannot be created or is not one.
    pub fn open(root: &Path) -> Result<RealDisk, DiskError> {
        let name = root.display().to_string();
        let failed = |error| DiskError::from_io(&name, DiskOp::CreateDir, error);
        let root = std::path::absolute(root).map_err(failed)?;
        let missing: Vec<&Path> = root.ancestors().take_while(|dir| !dir.exists()).collect();
        std::fs::create_dir_all(&root).map_err(failed)?;
        for dir in missing.into_iter().filter_map(Path::parent) {
            sync_directory(dir, &name)?;
        }
        if !root.is_dir() {
            return Err(failed(io::Error::from(io::ErrorKind::NotADirectory)));
        }
        Ok(RealDisk { root, read_only: false })
    }

    /// The existing directory `root` as a disk of which nothing can be changed: whatever would is refused as `ReadOnly`. Its
    /// locks need no right to write and leave the lock file as it is.
    ///
    /// # Errors
    /// `NotFound` when there is no such directory; `Other` when it is something else.
    pub fn open_read_only(root: &Path) -> Result<RealDisk, DiskError> {
        let name = root.display().to_string();
        let failed = |error| DiskError::from_io(&name, DiskOp::Open, error);
        let root = root.canonicalize().map_err(failed)?;
        if !root.is_dir() {
            return Err(failed(io::Error::from(io::ErrorKind::NotADirectory)));
        }
        Ok(RealDisk { root, read_only: true })
    }

    /// The directory that is the root.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn resolve(&self, path: &str, op: DiskOp) -> Result<PathBuf, DiskError> {
        let fine = path.is_empty() || path.split('/').all(|segment| !matches!(segment, "" | "." | ".."));
        if fine {
            Ok(self.root.join(path))
        } else {
            let text = "a path is relative to the data directory, without empty, . or .. segments";
            Err(DiskError::from_io(path, op, io::Error::new(io::ErrorKind::InvalidInput, text)))
        }
    }

    fn writable(&self, path: &str, op: DiskOp) -> Result<(), DiskError> {
        if !self.read_only {
            return Ok(());
        }
        let detail = "it was opened for reading only".to_owned();
        Err(DiskError::ReadOnly { path: path.to_owned(), op, detail })
    }

    fn create_file(&self, path: &str) -> Result<(File, PathBuf), DiskError> {
        self.writable(path, DiskOp::Create)?;
        let full = self.resolve(path, DiskOp::Create)?;
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&full);
        Ok((file.map_err(|error| DiskError::from_io(path, DiskOp::Create, error))?, full))
    }
}

/// Makes the entries of a directory durable; `path` is its name in errors.
pub(super) fn sync_directory(dir: &Path, path: &str) -> Result<(), DiskError> {
    let opened = File::open(dir).map_err(|error| DiskError::from_io(path, DiskOp::SyncDir, error))?;
    opened
        .sync_all()
        .map_err(|error| DiskError::SyncFailed { path: path.to_owned(), detail: error.to_string() })
}

/// Gives the file its space and length, durably.
fn allocate(file: &File, len: u64) -> io::Result<()> {
    if len == 0 {
        return Ok(());
    }
    match fallocate(file, FallocateFlags::empty(), 0, len) {
        Ok(()) => {}
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => write_zeros(file, len)?,
        Err(error) => return Err(error.into()),
    }
    file.sync_all()
}

fn write_zeros(mut file: &File, len: u64) -> io::Result<()> {
    let zeros = vec![0; ZEROS_BYTES];
    let mut left = len;
    while left > 0 {
        let step = usize::try_from(left).unwrap_or(usize::MAX).min(zeros.len());
        file.write_all(&zeros[..step])?;
        left -= step as u64;
    }
    Ok(())
}

#[async_trait]
impl Disk for RealDisk {
    async fn create(&self, path: &str) -> Result<Arc<dyn DiskFile>, DiskError> {
        let (file, _) = self.create_file(path)?;
        Ok(Arc::new(RealFile::new(file, path)))
    }

    async fn create_preallocated(&self, path: &str, len: u64) -> Result<Arc<dyn DiskFile>, DiskError> {
        let (file, full) = self.create_file(path)?;
        if let Err(error) = allocate(&file, len) {
            // The failure to report is that of the allocation; a file that cannot be removed is found empty later.
            let _ = std::fs::remove_file(&full);
            return Err(DiskError::from_io(path, DiskOp::Allocate, error));
        }
        Ok(Arc::new(RealFile::new(file, path)))
    }

    async fn open(&self, path: &str, mode: OpenMode) -> Result<Arc<dyn DiskFile>, DiskError> {
        if mode == OpenMode::ReadWrite {
            self.writable(path, DiskOp::Open)?;
        }
        let full = self.resolve(path, DiskOp::Open)?;
        let file = OpenOptions::new().read(true).write(mode == OpenMode::ReadWrite).open(full);
        let file = file.map_err(|error| DiskError::from_io(path, DiskOp::Open, error))?;
        Ok(Arc::new(RealFile::new(file, path)))
    }

    async fn read_dir(&self, path: &str) -> Result<Vec<String>, DiskError> {
        let failed = |error| DiskError::from_io(path, DiskOp::ReadDir, error);
        let full = self.resolve(path, DiskOp::ReadDir)?;
        let mut names = Vec::new();
        for entry in std::fs::read_dir(full).map_err(failed)? {
            names.push(entry.map_err(failed)?.file_name().to_string_lossy().into_owned());
        }
        names.sort_unstable();
        Ok(names)
    }

    async fn remove(&self, path: &str) -> Result<(), DiskError> {
        self.writable(path, DiskOp::Remove)?;
        let full = self.resolve(path, DiskOp::Remove)?;
        std::fs::remove_file(full).map_err(|error| DiskError::from_io(path, DiskOp::Remove, error))
    }

    async fn remove_dir(&self, path: &str) -> Result<(), DiskError> {
        self.writable(path, DiskOp::Remove)?;
        let full = self.resolve(path, DiskOp::Remove)?;
        std::fs::remove_dir(full).map_err(|error| DiskError::from_io(path, DiskOp::Remove, error))
    }

    async fn rename(&self, from: &str, to: &str) -> Result<(), DiskError> {
        self.writable(from, DiskOp::Rename)?;
        let (full, target) = (self.resolve(from, DiskOp::Rename)?, self.resolve(to, DiskOp::Rename)?);
        std::fs::rename(full, target).map_err(|error| DiskError::from_io(from, DiskOp::Rename, error))
    }

    async fn link(&self, from: &str, to: &str) -> Result<(), DiskError> {
        self.writable(from, DiskOp::Link)?;
        let (full, target) = (self.resolve(from, DiskOp::Link)?, self.resolve(to, DiskOp::Link)?);
        std::fs::hard_link(full, target).map_err(|error| {
            let path = if error.kind() == io::ErrorKind::AlreadyExists { to } else { from };
            DiskError::from_io(path, DiskOp::Link, error)
        })
    }

    async fn sync_dir(&self, path: &str) -> Result<(), DiskError> {
        sync_directory(&self.resolve(path, DiskOp::SyncDir)?, path)
    }

    async fn create_dir_all(&self, path: &str) -> Result<(), DiskError> {
        self.writable(path, DiskOp::CreateDir)?;
        let full = self.resolve(path, DiskOp::CreateDir)?;
        std::fs::create_dir_all(full).map_err(|error| DiskError::from_io(path, DiskOp::CreateDir, error))?;
        // Every level, not just those that were missing: an earlier process may have died between making and syncing one.
        let mut dir = path;
        while !dir.is_empty() {
            dir = parent(dir);
            self.sync_dir(dir).await?;
        }
        Ok(())
    }

    async fn exists(&self, path: &str) -> Result<bool, DiskError> {
        let full = self.resolve(path, DiskOp::Stat)?;
        full.try_exists().map_err(|error| DiskError::from_io(path, DiskOp::Stat, error))
    }

    async fn len(&self, path: &str) -> Result<u64, DiskError> {
        let full = self.resolve(path, DiskOp::Stat)?;
        let metadata =
            std::fs::metadata(full).map_err(|error| DiskError::from_io(path, DiskOp::Stat, error))?;
        Ok(metadata.len())
    }

    async fn lock(&self, path: &str) -> Result<LockGuard, DiskError> {
        let failed = |error| DiskError::from_io(path, DiskOp::Lock, error);
        let full = self.resolve(path, DiskOp::Lock)?;
        let writable = !self.read_only;
        let file = OpenOptions::new().read(true).write(writable).create(writable).truncate(false).open(full);
        let mut file = file.map_err(failed)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                return Err(DiskError::Locked { path: path.to_owned(), holder: holder(&mut file) });
            }
            Err(error) => return Err(failed(error.into())),
        }
        if writable {
            // Only for the error that another process shows; the lock holds without it.
            let _ = file.set_len(0).and_then(|()| write!(file, "process {}", std::process::id()));
        }
        Ok(LockGuard::new(file))
    }

    async fn space(&self) -> Result<Space, DiskError> {
        let stat =
            statvfs(&self.root).map_err(|error| DiskError::from_io("", DiskOp::Space, error.into()))?;
        Ok(Space {
            free: stat.f_bavail.saturating_mul(stat.f_frsize),
            total: stat.f_blocks.saturating_mul(stat.f_frsize),
        })
    }

    fn place(&self, path: &str) -> Place {
        self.resolve(path, DiskOp::Stat).map_or(Place::Nowhere, Place::Host)
    }
}

/// What the lock file says of its holder.
fn holder(file: &mut File) -> String {
    let mut text = String::new();
    let read = file.rewind().and_then(|()| file.take(HOLDER_BYTES).read_to_string(&mut text));
    match read {
        Ok(bytes) if bytes > 0 => text.trim().to_owned(),
        _ => "another process".to_owned(),
    }
}
