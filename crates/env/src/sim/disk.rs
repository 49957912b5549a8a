//! The disk of one simulated node in one of its lives: owns delays, faults and the trace around the medium. Guarantees that
//! what a dead node was still doing has no effect. Never keeps state of its own: that is the medium's.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;

use super::file::SimFile;
use super::medium::Medium;
use super::tasks::Life;
use super::world::World;
use crate::{Disk, DiskError, DiskFile, DiskOp, LockGuard, OpenMode, Place, Space};

/// The disk of one simulated node.
#[derive(Clone)]
pub struct SimDisk {
    pub(super) world: Arc<World>,
    pub(super) name: Arc<str>,
    pub(super) medium: Arc<Mutex<Medium>>,
    pub(super) life: Arc<Life>,
}

/// A file of a simulated disk as a store holds it.
#[derive(Clone)]
pub struct SimLink {
    medium: Arc<Mutex<Medium>>,
    inode: u64,
}

impl std::fmt::Debug for SimLink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SimLink({})", self.inode)
    }
}

impl SimLink {
    /// One object more (or fewer) is this file.
    pub(super) fn pin(&self, more: bool) {
        let mut medium = self.medium.lock();
        if let Some(inode) = medium.inode(self.inode) {
            inode.pins = if more { inode.pins + 1 } else { inode.pins.saturating_sub(1) };
        }
        medium.forget_unused();
    }

    pub(super) fn read(&self) -> Bytes {
        self.medium.lock().inode(self.inode).map(|inode| inode.read(0, usize::MAX)).unwrap_or_default()
    }

    pub(super) fn flip_bit(&self, at: u64) -> bool {
        self.medium.lock().inode(self.inode).is_some_and(|inode| inode.flip_bit(at))
    }
}

impl SimDisk {
    pub(super) fn down(path: &str, op: DiskOp) -> DiskError {
        DiskError::from_io(path, op, std::io::Error::other("the node is down"))
    }

    pub(super) fn broken(path: &str, op: DiskOp) -> DiskError {
        DiskError::from_io(path, op, std::io::Error::other("simulated I/O error"))
    }

    /// Waits as long as the operation takes.
    pub(super) async fn wait(&self, op: DiskOp, path: &str) -> Result<(), DiskError> {
        if self.life.is_alive() {
            let max = self.world.plan.lock().disk.max_delay;
            self.world.delay(max).await;
        }
        if self.life.is_alive() { Ok(()) } else { Err(SimDisk::down(path, op)) }
    }

    /// Writes what happened to the trace.
    pub(super) fn trace<T>(&self, op: DiskOp, path: &str, detail: u64, result: &Result<T, DiskError>) {
        let end = match result {
            Ok(_) => "ok".to_owned(),
            Err(error) => error.to_string(),
        };
        self.world.note(&format!("{} {op} {path} {detail}: {end}", self.name));
    }

    /// One operation: it takes its time, has its effect at once, and is traced.
    async fn step<T>(
        &self,
        op: DiskOp,
        path: &str,
        effect: impl FnOnce(&mut Medium) -> Result<T, DiskError> + Send,
    ) -> Result<T, DiskError> {
        valid(path, op)?;
        self.wait(op, path).await?;
        let result = effect(&mut self.medium.lock());
        self.trace(op, path, 0, &result);
        result
    }

    fn file(&self, inode: u64, path: &str, mode: OpenMode) -> Arc<dyn DiskFile> {
        Arc::new(SimFile::new(self.clone(), inode, path, mode))
    }
}

/// The same rule as the real disk has.
fn valid(path: &str, op: DiskOp) -> Result<(), DiskError> {
    if path.is_empty() || path.split('/').all(|segment| !matches!(segment, "" | "." | "..")) {
        return Ok(());
    }
    Err(DiskError::from_io(path, op, std::io::Error::from(std::io::ErrorKind::InvalidInput)))
}

#[async_trait]
impl Disk for SimDisk {
    async fn create(&self, path: &str) -> Result<Arc<dyn DiskFile>, DiskError> {
        let inode = self.step(DiskOp::Create, path, |medium| medium.create(path, 0)).await?;
        Ok(self.file(inode, path, OpenMode::ReadWrite))
    }

    async fn create_preallocated(&self, path: &str, len: u64) -> Result<Arc<dyn DiskFile>, DiskError> {
        let inode = self.step(DiskOp::Allocate, path, |medium| medium.create(path, len)).await?;
        Ok(self.file(inode, path, OpenMode::ReadWrite))
    }

    async fn open(&self, path: &str, mode: OpenMode) -> Result<Arc<dyn DiskFile>, DiskError> {
        let inode = self.step(DiskOp::Open, path, |medium| medium.find(path, DiskOp::Open)).await?;
        Ok(self.file(inode, path, mode))
    }

    async fn read_dir(&self, path: &str) -> Result<Vec<String>, DiskError> {
        self.step(DiskOp::ReadDir, path, |medium| medium.list(path)).await
    }

    async fn remove(&self, path: &str) -> Result<(), DiskError> {
        self.step(DiskOp::Remove, path, |medium| medium.remove(path)).await
    }

    async fn remove_dir(&self, path: &str) -> Result<(), DiskError> {
        self.step(DiskOp::Remove, path, |medium| medium.remove_dir(path)).await
    }

    async fn rename(&self, from: &str, to: &str) -> Result<(), DiskError> {
        valid(to, DiskOp::Rename)?;
        self.step(DiskOp::Rename, from, |medium| medium.rename(from, to)).await
    }

    async fn link(&self, from: &str, to: &str) -> Result<(), DiskError> {
        valid(to, DiskOp::Link)?;
        self.step(DiskOp::Link, from, |medium| medium.link(from, to)).await
    }

    async fn sync_dir(&self, path: &str) -> Result<(), DiskError> {
        let chance = self.world.plan.lock().disk.dir_sync_error;
        let fails = self.world.fate.chance(chance);
        self.step(DiskOp::SyncDir, path, |medium| {
            if fails {
                let detail = "simulated I/O error".to_owned();
                return Err(DiskError::SyncFailed { path: path.to_owned(), detail });
            }
            medium.sync_dir(path)
        })
        .await
    }

    async fn create_dir_all(&self, path: &str) -> Result<(), DiskError> {
        self.step(DiskOp::CreateDir, path, |medium| medium.create_dir_all(path)).await
    }

    async fn exists(&self, path: &str) -> Result<bool, DiskError> {
        self.step(DiskOp::Stat, path, |medium| Ok(medium.exists(path))).await
    }

    async fn len(&self, path: &str) -> Result<u64, DiskError> {
        self.step(DiskOp::Stat, path, |medium| {
            let inode = medium.find(path, DiskOp::Stat)?;
            Ok(medium.inode(inode).map_or(0, |inode| inode.len))
        })
        .await
    }

    async fn lock(&self, path: &str) -> Result<LockGuard, DiskError> {
        let number = self.step(DiskOp::Lock, path, |medium| medium.lock(path)).await?;
        Ok(LockGuard::new(Lock { medium: self.medium.clone(), path: path.to_owned(), number }))
    }

    async fn space(&self) -> Result<Space, DiskError> {
        self.step(DiskOp::Space, "", |medium| Ok(medium.space())).await
    }

    fn place(&self, path: &str) -> Place {
        let found = self.medium.lock().find(path, DiskOp::Stat);
        match found {
            Ok(inode) if self.life.is_alive() => {
                Place::Simulated(SimLink { medium: self.medium.clone(), inode })
            }
            _ => Place::Nowhere,
        }
    }
}

/// Gives its lock back when dropped.
struct Lock {
    medium: Arc<Mutex<Medium>>,
    path: String,
    number: u64,
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.medium.lock().unlock(&self.path, self.number);
    }
}
