//! Faults for any disk: owns a layer that refuses space, fails writes and syncs and slows them down on demand. Guarantees
//! that a failed write or sync reports failure. Never active unless a test asked for it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;

use crate::{Clock, Disk, DiskError, DiskFile, DiskOp, LockGuard, OpenMode, Place, Space};

/// What goes wrong. The default is nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Bytes that files made or lengthened through the layer may hold together; more is `Full`.
    pub capacity: Option<u64>,
    /// Every write fails with an I/O error, after its first half was written.
    pub fail_writes: bool,
    /// The n-th write from now on fails so, counted from 1.
    pub fail_write_at: Option<u64>,
    /// Every sync of a file fails.
    pub fail_syncs: bool,
    /// The n-th sync of a file from now on fails, counted from 1.
    pub fail_sync_at: Option<u64>,
    /// Every sync of a directory fails.
    pub fail_dir_syncs: bool,
    /// Every write and sync takes this much longer.
    pub slow: Duration,
}

impl Faults {
    /// Reads faults as text: `key=value` or `key`, separated by white space or commas. The keys are `capacity` (bytes),
    /// `fail-writes`, `fail-write-at`, `fail-syncs`, `fail-sync-at`, `fail-dir-syncs` and `slow-ms`.
    ///
    /// # Errors
    /// The word that is not understood.
    pub fn parse(text: &str) -> Result<Faults, String> {
        let mut faults = Faults::default();
        for word in text.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty()) {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            let number =
                || value.parse::<u64>().map_err(|_| format!("{word}: a whole number is expected after ="));
            match key {
                "capacity" => faults.capacity = Some(number()?),
                "fail-writes" => faults.fail_writes = true,
                "fail-write-at" => faults.fail_write_at = Some(number()?),
                "fail-syncs" => faults.fail_syncs = true,
                "fail-sync-at" => faults.fail_sync_at = Some(number()?),
                "fail-dir-syncs" => faults.fail_dir_syncs = true,
                "slow-ms" => faults.slow = Duration::from_millis(number()?),
                _ => return Err(format!("{word}: no such fault")),
            }
        }
        Ok(faults)
    }
}

/// A disk with faults.
pub struct FaultDisk {
    inner: Arc<dyn Disk>,
    shared: Arc<Shared>,
}

struct Shared {
    clock: Arc<dyn Clock>,
    control: Option<PathBuf>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    faults: Faults,
    control_text: String,
    writes: u64,
    syncs: u64,
    held: BTreeMap<String, u64>,
}

impl FaultDisk {
    /// `inner` without faults until [`FaultDisk::set`].
    pub fn new(inner: Arc<dyn Disk>, clock: Arc<dyn Clock>) -> FaultDisk {
        FaultDisk::build(inner, clock, None)
    }

    /// `inner` with the faults that the file `control` of the host holds at any moment (see [`Faults::parse`]); a missing
    /// file is no faults. For tests of a whole process, which cannot call [`FaultDisk::set`].
    pub fn controlled(inner: Arc<dyn Disk>, clock: Arc<dyn Clock>, control: PathBuf) -> FaultDisk {
        FaultDisk::build(inner, clock, Some(control))
    }

    fn build(inner: Arc<dyn Disk>, clock: Arc<dyn Clock>, control: Option<PathBuf>) -> FaultDisk {
        FaultDisk { inner, shared: Arc::new(Shared { clock, control, state: Mutex::default() }) }
    }

    /// From now on these faults; the counts of writes and syncs start anew.
    pub fn set(&self, faults: Faults) {
        self.shared.set(faults);
    }

    fn file(&self, file: Arc<dyn DiskFile>, path: &str) -> Arc<dyn DiskFile> {
        let sync_failed = Mutex::new(false);
        Arc::new(FaultFile { inner: file, path: path.to_owned(), shared: self.shared.clone(), sync_failed })
    }
}

impl Shared {
    fn set(&self, faults: Faults) {
        let mut state = self.state.lock();
        state.faults = faults;
        (state.writes, state.syncs) = (0, 0);
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the control file lies outside the disk that has the faults"
    )]
    fn refresh(&self) {
        let Some(control) = &self.control else { return };
        let text = std::fs::read_to_string(control).unwrap_or_default();
        let mut state = self.state.lock();
        if text == state.control_text {
            return;
        }
        match Faults::parse(&text) {
            Ok(faults) => {
                tracing::warn!(?faults, "disk faults injected");
                state.faults = faults;
                (state.writes, state.syncs) = (0, 0);
            }
            Err(reason) => tracing::error!(%reason, "the fault file is not understood"),
        }
        state.control_text = text;
    }

    async fn delay(&self) {
        self.refresh();
        let slow = self.state.lock().faults.slow;
        if !slow.is_zero() {
            self.clock.sleep(slow).await;
        }
    }

    /// Takes the space for a file to hold `len` bytes, when it holds fewer.
    fn take_space(&self, path: &str, len: u64, op: DiskOp) -> Result<(), DiskError> {
        let mut state = self.state.lock();
        let held: u64 = state.held.values().sum();
        let own = state.held.get(path).copied().unwrap_or(0);
        let grown = (held - own).saturating_add(len.max(own));
        match state.faults.capacity {
            Some(capacity) if len > own && grown > capacity => {
                let detail = format!("{grown} bytes where the injected capacity is {capacity}");
                Err(DiskError::Full { path: path.to_owned(), op, detail })
            }
            _ => {
                state.held.insert(path.to_owned(), len.max(own));
                Ok(())
            }
        }
    }

    /// Counts a write and says whether it fails.
    fn write_fails(&self) -> bool {
        let mut state = self.state.lock();
        state.writes += 1;
        state.faults.fail_writes || state.faults.fail_write_at == Some(state.writes)
    }

    /// Counts a sync and says whether it fails.
    fn sync_fails(&self) -> bool {
        let mut state = self.state.lock();
        state.syncs += 1;
        state.faults.fail_syncs || state.faults.fail_sync_at == Some(state.syncs)
    }
}

#[async_trait]
impl Disk for FaultDisk {
    async fn create(&self, path: &str) -> Result<Arc<dyn DiskFile>, DiskError> {
        self.shared.refresh();
        Ok(self.file(self.inner.create(path).await?, path))
    }

    async fn create_preallocated(&self, path: &str, len: u64) -> Result<Arc<dyn DiskFile>, DiskError> {
        self.shared.delay().await;
        self.shared.take_space(path, len, DiskOp::Allocate)?;
        match self.inner.create_preallocated(path, len).await {
            Ok(file) => Ok(self.file(file, path)),
            Err(error) => {
                self.shared.state.lock().held.remove(path);
                Err(error)
            }
        }
    }

    async fn open(&self, path: &str, mode: OpenMode) -> Result<Arc<dyn DiskFile>, DiskError> {
        Ok(self.file(self.inner.open(path, mode).await?, path))
    }

    async fn read_dir(&self, path: &str) -> Result<Vec<String>, DiskError> {
        self.inner.read_dir(path).await
    }

    async fn remove(&self, path: &str) -> Result<(), DiskError> {
        self.inner.remove(path).await?;
        self.shared.state.lock().held.remove(path);
        Ok(())
    }

    async fn remove_dir(&self, path: &str) -> Result<(), DiskError> {
        self.inner.remove_dir(path).await
    }

    async fn rename(&self, from: &str, to: &str) -> Result<(), DiskError> {
        self.inner.rename(from, to).await?;
        let mut state = self.shared.state.lock();
        if let Some(len) = state.held.remove(from) {
            state.held.insert(to.to_owned(), len);
        }
        Ok(())
    }

    async fn link(&self, from: &str, to: &str) -> Result<(), DiskError> {
        self.inner.link(from, to).await
    }

    async fn sync_dir(&self, path: &str) -> Result<(), DiskError> {
        self.shared.delay().await;
        if self.shared.state.lock().faults.fail_dir_syncs {
            return Err(DiskError::SyncFailed { path: path.to_owned(), detail: "injected".to_owned() });
        }
        self.inner.sync_dir(path).await
    }

    async fn create_dir_all(&self, path: &str) -> Result<(), DiskError> {
        self.inner.create_dir_all(path).await
    }

    async fn exists(&self, path: &str) -> Result<bool, DiskError> {
        self.inner.exists(path).await
    }

    async fn len(&self, path: &str) -> Result<u64, DiskError> {
        self.inner.len(path).await
    }

    async fn lock(&self, path: &str) -> Result<LockGuard, DiskError> {
        self.inner.lock(path).await
    }

    async fn space(&self) -> Result<Space, DiskError> {
        self.shared.refresh();
        let space = self.inner.space().await?;
        let state = self.shared.state.lock();
        let held: u64 = state.held.values().sum();
        Ok(match state.faults.capacity {
            Some(capacity) => Space { free: capacity.saturating_sub(held).min(space.free), total: capacity },
            None => space,
        })
    }

    fn place(&self, path: &str) -> Place {
        self.inner.place(path)
    }
}

struct FaultFile {
    inner: Arc<dyn DiskFile>,
    path: String,
    shared: Arc<Shared>,
    sync_failed: Mutex<bool>,
}

#[async_trait]
impl DiskFile for FaultFile {
    async fn write_at(&self, buffers: &[Bytes], offset: u64) -> Result<(), DiskError> {
        self.shared.delay().await;
        let total: u64 = buffers.iter().map(|buffer| buffer.len() as u64).sum();
        if self.shared.write_fails() {
            let half = buffers.len() / 2;
            self.inner.write_at(&buffers[..half], offset).await?;
            let source = Arc::new(std::io::Error::other("injected write error"));
            return Err(DiskError::Other { path: self.path.clone(), op: DiskOp::Write, source });
        }
        if total > 0 {
            self.grow(offset + total, DiskOp::Write).await?;
        }
        self.inner.write_at(buffers, offset).await
    }

    async fn sync_data(&self) -> Result<(), DiskError> {
        self.shared.delay().await;
        let failed = self.shared.sync_fails();
        let already = std::mem::replace(&mut *self.sync_failed.lock(), failed);
        if already || failed {
            *self.sync_failed.lock() = true;
            let detail = if already { "an earlier sync of this file failed" } else { "injected" };
            return Err(DiskError::SyncFailed { path: self.path.clone(), detail: detail.to_owned() });
        }
        self.inner.sync_data().await
    }

    async fn read_at(&self, offset: u64, len: usize) -> Result<Bytes, DiskError> {
        self.inner.read_at(offset, len).await
    }

    async fn set_len(&self, len: u64) -> Result<(), DiskError> {
        if len > self.inner.len().await? {
            self.grow(len, DiskOp::SetLen).await?;
            return self.inner.set_len(len).await;
        }
        self.inner.set_len(len).await?;
        if let Some(held) = self.shared.state.lock().held.get_mut(&self.path) {
            *held = len;
        }
        Ok(())
    }

    async fn len(&self) -> Result<u64, DiskError> {
        self.inner.len().await
    }
}

impl FaultFile {
    /// Takes space for the file to reach `len`. Bytes that it holds already are not taken again.
    async fn grow(&self, len: u64, op: DiskOp) -> Result<(), DiskError> {
        if len <= self.inner.len().await? {
            return Ok(());
        }
        self.shared.take_space(&self.path, len, op)
    }
}
