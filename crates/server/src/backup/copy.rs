//! Copying objects from one store to another.
//!
//! Owns what is copied, verified and left as it is. Guarantees that at most [`MEMORY_BYTES`] of objects are in memory and
//! [`AT_ONCE`] are on their way, that an object which is there with its length is not copied again unless it is suspect, and
//! that footer and index of what is copied are verified. An object that is missing or damaged holds up no other: it is named.
//! Never deletes, but for a copy of another length in the way of a large one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;
use kelda_env::{Disk, DiskError, DiskFile, Env, StoreError};
use kelda_format::keys::{data_key, data_prefix, parse_data_key};
use kelda_format::object::{FOOTER_BYTES, Footer, ObjectIndex};
use kelda_format::rows::ObjectRow;
use kelda_format::{ClusterId, ObjectId};
use tokio::sync::Semaphore;

use super::{BackupError, Place, Progress, Stage};

/// Objects on their way at once.
const AT_ONCE: usize = 8;
/// Bytes of objects that are in memory at once.
const MEMORY_BYTES: u64 = 256 << 20;
/// The unit in which they are counted.
const UNIT_BYTES: u64 = 64 << 10;
/// An object up to this size is copied through memory; a larger one through a file.
const WHOLE_BYTES: u64 = 128 << 20;
/// Bytes of a larger one that are read at once.
const PIECE_BYTES: u64 = 16 << 20;
/// How often it is tried to have such a file taken over.
const ADOPT_TRIES: u32 = 4;
/// Where those files are, below the data directory. Every start of a node empties it.
const TEMPORARY_DIR: &str = "tmp";

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// Objects that were copied.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Objects that were there already.
    pub present: u64,
    /// Objects that are not in the store they had to come from.
    pub missing: Vec<ObjectId>,
    /// Objects that are damaged there. They were copied as they are.
    pub damaged: Vec<ObjectId>,
}

/// A copy from one store to another.
pub(super) struct Copier<'a> {
    pub(super) env: &'a Env,
    pub(super) from: &'a Place,
    pub(super) to: &'a Place,
    pub(super) cluster: ClusterId,
    pub(super) progress: &'a Progress,
}

enum Outcome {
    Present,
    Copied,
    Damaged,
    Missing,
}

impl Copier<'_> {
    /// Copies what of `objects` the target has not, and what of it is in `suspect`.
    ///
    /// # Errors
    /// A store fails, or does not have what it was given.
    pub(super) async fn run(
        &self,
        objects: &[ObjectRow],
        suspect: &BTreeSet<ObjectId>,
    ) -> Result<Copied, BackupError> {
        self.progress.needs(objects.len() as u64, objects.iter().map(|row| row.bytes).sum());
        let there = self.listed().await?;
        let is_there = |row: &ObjectRow| there.get(&row.id) == Some(&row.bytes) && !suspect.contains(&row.id);
        self.progress.enter(Stage::Copying);
        let memory = Semaphore::new(usize::try_from(MEMORY_BYTES / UNIT_BYTES).unwrap_or(usize::MAX));
        // Owned rows: a closure over borrowed ones is not general enough for a future that is sent.
        let rows: Vec<ObjectRow> = objects.to_vec();
        let mut running = futures::stream::iter(rows.into_iter().map(|row| {
            let (memory, present) = (&memory, is_there(&row));
            async move {
                let outcome = if present { Outcome::Present } else { self.object(memory, &row).await? };
                self.progress.done(row.bytes);
                Ok::<_, BackupError>((row, outcome))
            }
        }))
        .buffer_unordered(AT_ONCE);
        let mut copied = Copied::default();
        while let Some(done) = running.next().await {
            let (row, outcome) = done?;
            match outcome {
                Outcome::Present => copied.present += 1,
                Outcome::Missing => copied.missing.push(row.id),
                Outcome::Copied | Outcome::Damaged => {
                    copied.objects += 1;
                    copied.bytes += row.bytes;
                }
            }
            if matches!(outcome, Outcome::Damaged) {
                copied.damaged.push(row.id);
            }
        }
        drop(running);
        copied.missing.sort_unstable();
        copied.damaged.sort_unstable();
        self.progress.enter(Stage::Verifying);
        self.verify(objects, &copied).await?;
        Ok(copied)
    }

    /// The objects of the cluster in the target, with their lengths.
    async fn listed(&self) -> Result<BTreeMap<ObjectId, u64>, BackupError> {
        let listed = self.to.store.list(&data_prefix(self.cluster)).await;
        let listed = listed.map_err(|error| BackupError::store(&self.to.name, error))?;
        let known = listed.into_iter();
        Ok(known.filter_map(|info| Some((parse_data_key(self.cluster, &info.key)?, info.len))).collect())
    }

    /// The target has every object with its length, whatever it answered.
    async fn verify(&self, objects: &[ObjectRow], copied: &Copied) -> Result<(), BackupError> {
        let there = self.listed().await?;
        let faulty: BTreeSet<&ObjectId> = copied.missing.iter().chain(&copied.damaged).collect();
        for row in objects.iter().filter(|row| !faulty.contains(&row.id)) {
            let found = there.get(&row.id);
            if found != Some(&row.bytes) {
                let found = found.map_or("is not there".to_owned(), |found| format!("has {found} bytes"));
                let key = data_key(self.cluster, row.id);
                return Err(BackupError::Failed(format!(
                    "{}: object {key} was written with {} bytes and {found}: the store does not keep what it is given",
                    self.to.name, row.bytes
                )));
            }
        }
        Ok(())
    }

    async fn object(&self, memory: &Semaphore, row: &ObjectRow) -> Result<Outcome, BackupError> {
        let key = data_key(self.cluster, row.id);
        let wanted = if row.bytes > WHOLE_BYTES { PIECE_BYTES } else { row.bytes };
        let units = u32::try_from(wanted.div_ceil(UNIT_BYTES).max(1)).unwrap_or(u32::MAX);
        let held = memory.acquire_many(units).await;
        let _held = held.map_err(|_| BackupError::Failed("stopped".to_owned()))?;
        let copied = if row.bytes > WHOLE_BYTES {
            self.through_a_file(&key, row).await
        } else {
            self.through_memory(&key, row).await
        };
        match copied {
            Ok(outcome) => Ok(outcome),
            Err(Side::From(error)) if error.is_not_found() => Ok(Outcome::Missing),
            Err(Side::From(error)) => Err(BackupError::store(&self.from.name, error)),
            Err(Side::To(error)) => Err(BackupError::store(&self.to.name, error)),
            Err(Side::Disk(error)) => Err(BackupError::disk("for temporary files", error)),
        }
    }

    async fn through_memory(&self, key: &str, row: &ObjectRow) -> Result<Outcome, Side> {
        let bytes = self.from.store.get(key).await.map_err(Side::From)?;
        let outcome = if is_sound(self.cluster, row, &bytes) { Outcome::Copied } else { Outcome::Damaged };
        self.to.store.put(key, bytes).await.map_err(Side::To)?;
        Ok(outcome)
    }

    async fn through_a_file(&self, key: &str, row: &ObjectRow) -> Result<Outcome, Side> {
        let disk = &self.env.disk;
        disk.create_dir_all(TEMPORARY_DIR).await.map_err(Side::Disk)?;
        let nonce = u128::from_le_bytes(self.env.random.nonce());
        let path = format!("{TEMPORARY_DIR}/copy-{nonce:032x}");
        let copied = self.spill(disk, &path, key, row).await;
        // What stays after a failure is removed by the next start.
        let _ = disk.remove(&path).await;
        copied
    }

    async fn spill(
        &self,
        disk: &Arc<dyn Disk>,
        path: &str,
        key: &str,
        row: &ObjectRow,
    ) -> Result<Outcome, Side> {
        let info = self.from.store.head(key).await.map_err(Side::From)?;
        let len = info.ok_or_else(|| Side::From(StoreError::NotFound { key: key.to_owned() }))?.len;
        let file = disk.create(path).await.map_err(Side::Disk)?;
        let mut at = 0;
        while at < len {
            let end = (at + PIECE_BYTES).min(len);
            let piece = self.from.store.get_range(key, at..end).await.map_err(Side::From)?;
            file.write_at(std::slice::from_ref(&piece), at).await.map_err(Side::Disk)?;
            at = end;
        }
        file.sync_data().await.map_err(Side::Disk)?;
        let sound = len == row.bytes && self.trailer_is_sound(&*file, len).await.map_err(Side::Disk)?;
        self.adopt(disk, path, key, len).await?;
        Ok(if sound { Outcome::Copied } else { Outcome::Damaged })
    }

    /// Has the target take over a file. No layer repeats that, so what became of it is looked up (P8).
    async fn adopt(&self, disk: &Arc<dyn Disk>, path: &str, key: &str, len: u64) -> Result<(), Side> {
        let store = &self.to.store;
        let mut tries = ADOPT_TRIES;
        loop {
            tries -= 1;
            let error = match store.adopt(&**disk, path, key).await {
                Ok(_) => return Ok(()),
                Err(error) => error,
            };
            if error.is_already_exists() {
                // Of another length, or suspect: objects of the right one are not copied.
                store.delete(key).await.map_err(Side::To)?;
            } else if !error.is_outcome_unknown() {
                return Err(Side::To(error));
            } else if store.head(key).await.map_err(Side::To)?.is_some_and(|info| info.len == len) {
                return Ok(());
            }
            if tries == 0 {
                return Err(Side::To(error));
            }
        }
    }

    async fn trailer_is_sound(&self, file: &dyn DiskFile, len: u64) -> Result<bool, DiskError> {
        let footer_at = len.saturating_sub(FOOTER_BYTES as u64);
        let bytes = file.read_at(footer_at, FOOTER_BYTES).await?;
        let Ok(footer) = Footer::decode(&bytes, len) else { return Ok(false) };
        let index = file.read_at(footer.index_position, footer.index_len as usize).await?;
        Ok(footer.source.cluster() == self.cluster && ObjectIndex::decode(&index, &footer).is_ok())
    }
}

/// Whose failure it is.
enum Side {
    From(StoreError),
    To(StoreError),
    Disk(DiskError),
}

/// Whether an object has the length that the metadata says, and a footer and an index that a reader would take.
fn is_sound(cluster: ClusterId, row: &ObjectRow, bytes: &Bytes) -> bool {
    if bytes.len() as u64 != row.bytes {
        return false;
    }
    let Ok(footer) = Footer::decode(bytes, row.bytes) else { return false };
    let Ok(from) = usize::try_from(footer.index_position) else { return false };
    let index = bytes.get(from..from + footer.index_len as usize);
    footer.source.cluster() == cluster
        && index.is_some_and(|index| ObjectIndex::decode(index, &footer).is_ok())
}
