//! One open file of a simulated disk: owns the rule that a failed sync fails every later one. Guarantees what the real file
//! guarantees and no more. Never syncs what was written after the sync began.

use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use bytes::Bytes;

use super::disk::SimDisk;
use super::inode::Inode;
use crate::{DiskError, DiskFile, DiskOp, OpenMode, Random};

pub(super) struct SimFile {
    disk: SimDisk,
    inode: u64,
    path: String,
    mode: OpenMode,
    sync_failed: AtomicBool,
}

impl SimFile {
    pub(super) fn new(disk: SimDisk, inode: u64, path: &str, mode: OpenMode) -> SimFile {
        if let Some(inode) = disk.medium.lock().inode(inode) {
            inode.open += 1;
        }
        SimFile { disk, inode, path: path.to_owned(), mode, sync_failed: AtomicBool::new(false) }
    }

    fn with<T>(&self, op: DiskOp, act: impl FnOnce(&mut Inode) -> T) -> Result<T, DiskError> {
        match self.disk.medium.lock().inode(self.inode) {
            Some(inode) => Ok(act(inode)),
            None => Err(SimDisk::down(&self.path, op)),
        }
    }

    fn writable(&self, op: DiskOp) -> Result<(), DiskError> {
        match self.mode {
            OpenMode::ReadWrite => Ok(()),
            OpenMode::Read => {
                let source = std::io::Error::other("the file is open for reading only");
                Err(DiskError::from_io(&self.path, op, source))
            }
        }
    }

    /// Writes the first `len` of the bytes and reports `error`.
    fn write_part(&self, bytes: &[u8], offset: u64, error: DiskError) -> DiskError {
        let len = usize::try_from(self.disk.world.fate.below(bytes.len() as u64 + 1)).unwrap_or(0);
        let part = self.disk.medium.lock().write(self.inode, &self.path, &bytes[..len], offset);
        part.err().unwrap_or(error)
    }

    fn write(&self, bytes: &[u8], offset: u64) -> Result<(), DiskError> {
        let faults = self.disk.world.plan.lock().disk.clone();
        if self.disk.world.fate.chance(faults.write_error) {
            return Err(self.write_part(bytes, offset, SimDisk::broken(&self.path, DiskOp::Write)));
        }
        if self.disk.world.fate.chance(faults.write_full) {
            let detail = "simulated".to_owned();
            let error = DiskError::Full { path: self.path.clone(), op: DiskOp::Write, detail };
            return Err(self.write_part(bytes, offset, error));
        }
        self.disk.medium.lock().write(self.inode, &self.path, bytes, offset)
    }

    async fn sync(&self) -> Result<(), DiskError> {
        let failed =
            |detail: &str| Err(DiskError::SyncFailed { path: self.path.clone(), detail: detail.to_owned() });
        if self.sync_failed.load(Ordering::Relaxed) {
            return failed("an earlier sync of this file failed");
        }
        let upto = self.with(DiskOp::Sync, |inode| inode.begin_sync())?;
        self.disk.wait(DiskOp::Sync, &self.path).await?;
        let chance = self.disk.world.plan.lock().disk.sync_error;
        if self.disk.world.fate.chance(chance) {
            self.sync_failed.store(true, Ordering::Relaxed);
            self.with(DiskOp::Sync, |inode| inode.fail_sync(upto, &self.disk.world.fate))?;
            return failed("simulated I/O error");
        }
        self.with(DiskOp::Sync, |inode| inode.finish_sync(upto))
    }
}

impl Drop for SimFile {
    fn drop(&mut self) {
        // After a crash the file is closed already, and its number may be open in the next life.
        if self.disk.life.is_alive() {
            let mut medium = self.disk.medium.lock();
            if let Some(inode) = medium.inode(self.inode) {
                inode.open = inode.open.saturating_sub(1);
            }
            medium.forget_unused();
        }
    }
}

#[async_trait]
impl DiskFile for SimFile {
    async fn write_at(&self, buffers: &[Bytes], offset: u64) -> Result<(), DiskError> {
        self.writable(DiskOp::Write)?;
        self.disk.wait(DiskOp::Write, &self.path).await?;
        let bytes = buffers.concat();
        let result = self.write(&bytes, offset);
        self.disk.trace(DiskOp::Write, &self.path, offset + bytes.len() as u64, &result);
        result
    }

    async fn sync_data(&self) -> Result<(), DiskError> {
        if !self.disk.life.is_alive() {
            return Err(SimDisk::down(&self.path, DiskOp::Sync));
        }
        let result = self.sync().await;
        self.disk.trace(DiskOp::Sync, &self.path, 0, &result);
        result
    }

    async fn read_at(&self, offset: u64, len: usize) -> Result<Bytes, DiskError> {
        self.disk.wait(DiskOp::Read, &self.path).await?;
        let chance = self.disk.world.plan.lock().disk.read_error;
        if self.disk.world.fate.chance(chance) {
            return Err(SimDisk::broken(&self.path, DiskOp::Read));
        }
        self.with(DiskOp::Read, |inode| inode.read(offset, len))
    }

    async fn set_len(&self, len: u64) -> Result<(), DiskError> {
        self.writable(DiskOp::SetLen)?;
        self.disk.wait(DiskOp::SetLen, &self.path).await?;
        let result = self.with(DiskOp::SetLen, |inode| inode.set_len(len));
        self.disk.trace(DiskOp::SetLen, &self.path, len, &result);
        result
    }

    async fn len(&self) -> Result<u64, DiskError> {
        self.disk.wait(DiskOp::Stat, &self.path).await?;
        self.with(DiskOp::Stat, |inode| inode.len)
    }
}
