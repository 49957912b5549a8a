//! One file of the host's file system: owns positioned reads, vectored writes and the data sync. Guarantees that a failed
//! sync fails every later one. Never writes part of a call and reports success.

use std::fs::File;
use std::io::{self, IoSlice};
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use rustix::buffer::spare_capacity;
use rustix::io::{Errno, pread, pwritev};

use crate::{DiskError, DiskFile, DiskOp};

/// The most buffers of one vectored write; Linux takes no more (`IOV_MAX`).
const MAX_BUFFERS: usize = 1024;

/// An open file.
pub(super) struct RealFile {
    file: File,
    path: String,
    sync_failed: AtomicBool,
}

impl RealFile {
    pub(super) fn new(file: File, path: &str) -> RealFile {
        RealFile { file, path: path.to_owned(), sync_failed: AtomicBool::new(false) }
    }

    fn failed(&self, op: DiskOp, error: impl Into<io::Error>) -> DiskError {
        DiskError::from_io(&self.path, op, error.into())
    }

    /// Writes all of `slices`, in as many calls as it takes.
    fn write_all(&self, mut slices: &mut [IoSlice<'_>], mut offset: u64) -> io::Result<()> {
        // Empty buffers would let a call write nothing and look like a medium that takes nothing.
        IoSlice::advance_slices(&mut slices, 0);
        while !slices.is_empty() {
            let some = &slices[..slices.len().min(MAX_BUFFERS)];
            match pwritev(&self.file, some, offset) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::WriteZero)),
                Ok(written) => {
                    offset += written as u64;
                    IoSlice::advance_slices(&mut slices, written);
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

#[async_trait]
impl DiskFile for RealFile {
    async fn write_at(&self, buffers: &[Bytes], offset: u64) -> Result<(), DiskError> {
        let mut slices: Vec<IoSlice<'_>> =
            buffers.iter().filter(|buffer| !buffer.is_empty()).map(|buffer| IoSlice::new(buffer)).collect();
        self.write_all(&mut slices, offset).map_err(|error| self.failed(DiskOp::Write, error))
    }

    async fn sync_data(&self) -> Result<(), DiskError> {
        let sync_failed = |detail: String| Err(DiskError::SyncFailed { path: self.path.clone(), detail });
        if self.sync_failed.load(Ordering::Acquire) {
            return sync_failed("an earlier sync of this file failed".to_owned());
        }
        match self.file.sync_data() {
            Ok(()) => Ok(()),
            Err(error) => {
                self.sync_failed.store(true, Ordering::Release);
                sync_failed(error.to_string())
            }
        }
    }

    async fn read_at(&self, offset: u64, len: usize) -> Result<Bytes, DiskError> {
        let held = self.len().await?.saturating_sub(offset);
        let want = usize::try_from(held).unwrap_or(usize::MAX).min(len);
        let mut bytes = Vec::with_capacity(want);
        while bytes.len() < want {
            let position = offset + bytes.len() as u64;
            match pread(&self.file, spare_capacity(&mut bytes), position) {
                Ok(0) => break,
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(self.failed(DiskOp::Read, error)),
            }
        }
        // The allocator may give more room than was asked for.
        bytes.truncate(want);
        Ok(Bytes::from(bytes))
    }

    async fn set_len(&self, len: u64) -> Result<(), DiskError> {
        self.file.set_len(len).map_err(|error| self.failed(DiskOp::SetLen, error))
    }

    async fn len(&self) -> Result<u64, DiskError> {
        let metadata = self.file.metadata().map_err(|error| self.failed(DiskOp::Stat, error))?;
        Ok(metadata.len())
    }
}
