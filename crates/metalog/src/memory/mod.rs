//! The backend in memory: owns entries, snapshots and pointer as an object store would hold them, guarantees
//! the contract of [`LogStore`] with the steps of P20 taken one by one, never touches a disk.
//!
//! Clones share the log, so it outlives every `MetaLog` on it: a simulated crash drops the `MetaLog` and
//! opens another one on the same `MemoryLog`. Faults, delays and holds are set from outside while it runs.

mod append;
mod faults;
mod shared;
mod snapshot;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use kelda_env::Env;

pub use faults::{FaultRates, Hold, Step};

use crate::store::{AppendError, LogError, LogStore, SnapshotPut};
use faults::Faults;
use shared::Shared;

/// A log in memory; clones are handles on the same log.
#[derive(Clone)]
pub struct MemoryLog {
    shared: Arc<Shared>,
    faults: Arc<Faults>,
}

impl Default for MemoryLog {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryLog").finish_non_exhaustive()
    }
}

impl MemoryLog {
    /// An empty log without faults or delays.
    #[must_use]
    pub fn new() -> Self {
        Self { shared: Arc::default(), faults: Arc::new(Faults::none()) }
    }

    /// An empty log whose delays and faults come from the clock and the randomness of `env`.
    #[must_use]
    pub fn simulated(env: Env, rates: FaultRates) -> Self {
        Self { shared: Arc::default(), faults: Arc::new(Faults::seeded(env, rates)) }
    }

    /// Changes how often calls through any handle are delayed or fail; no effect on a log made by [`MemoryLog::new`].
    pub fn set_rates(&self, rates: FaultRates) {
        self.faults.set_rates(rates);
    }

    /// A handle on the same log with holds of its own, so that one writer can be stopped and not the others.
    #[must_use]
    pub fn handle(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), faults: Arc::new(self.faults.without_holds()) }
    }

    /// Stops every call through this handle and its clones at `step`, until the hold is dropped.
    #[must_use]
    pub fn hold(&self, step: Step) -> Hold {
        self.faults.hold(step)
    }

    /// Puts bytes into a slot as a writer that was killed before its check would leave them; replaces what is there.
    pub fn plant(&self, index: u64, entry: Bytes) {
        self.shared.plant(index, entry);
    }

    /// Replaces the bytes of the newest snapshot, as a damaged medium would.
    pub fn damage_snapshot(&self, bytes: Bytes) {
        self.shared.damage_snapshot(bytes);
    }

    /// The lowest index that counts, the index of the newest snapshot, and the lowest index still stored.
    #[must_use]
    pub fn bounds(&self) -> Bounds {
        self.shared.bounds()
    }

    /// The snapshots kept aside, as index and reason.
    #[must_use]
    pub fn quarantined(&self) -> Vec<(u64, String)> {
        self.shared.quarantined()
    }
}

/// Where a log begins, for tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The truncation bound T.
    pub bound: u64,
    /// The index S of the newest snapshot, 0 without one.
    pub snapshot: u64,
    /// The lowest slot that holds bytes, orphans included.
    pub lowest: Option<u64>,
}

#[async_trait]
impl LogStore for MemoryLog {
    async fn append(&self, index: u64, entry: Bytes) -> Result<(), AppendError> {
        append::append(&self.shared, &self.faults, index, entry).await
    }

    async fn read(&self, from: u64, limit: usize) -> Result<Vec<(u64, Bytes)>, LogError> {
        self.faults.may_fail(Step::Read).await?;
        self.shared.land(|| self.faults.arrives());
        let entries = self.shared.fetch(from, limit);
        self.faults.pause(Step::Fetched).await;
        self.shared.counts(from, &entries)?;
        Ok(entries)
    }

    async fn latest_snapshot(&self) -> Result<Option<(u64, Bytes)>, LogError> {
        snapshot::latest(&self.shared, &self.faults).await
    }

    async fn put_snapshot(&self, index: u64, state: Bytes) -> Result<SnapshotPut, LogError> {
        snapshot::put(&self.shared, &self.faults, index, state).await
    }

    async fn quarantine(&self, index: u64, reason: &str) -> Result<(), LogError> {
        self.shared.quarantine(index, reason);
        Ok(())
    }

    async fn wait(&self, after: u64) {
        self.shared.wait(after).await;
    }
}
