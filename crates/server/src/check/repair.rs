//! The repair of what may be repaired: orphans and left-overs go, a damaged index is built anew.
//!
//! Owns what that is. Guarantees that it acts on a report made under the same lock, that nothing is removed which the metadata
//! name or which is damaged, and that an object is replaced whole or not at all. Never repairs metadata, records or a marker:
//! those are only reported.

use kelda_engine::check::{ObjectUse, SegmentState, SlotUse, rebuild_index};
use kelda_env::{Disk as _, DiskError, RealDisk};
use kelda_format::ObjectId;
use kelda_format::keys::data_key;
use kelda_format::rows::SessionState;

use super::CheckError;
use super::report::Report;
use super::run::Checker;
use crate::node::{LOCK_FILE, WAL_DIR};

/// Objects that one request removes.
const AT_ONCE: usize = 1000;

/// What a repair would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Objects that nothing needs, with their bytes.
    pub orphans: Vec<(ObjectId, u64)>,
    /// Keys of slots of write-ahead logs that nothing needs.
    pub slots: Vec<String>,
    /// Segments of write-ahead logs that nothing needs, and temporary files, below the data directory.
    pub files: Vec<String>,
    /// Whether writes that were interrupted left something in the store.
    pub staged: bool,
    /// Objects whose index or footer is damaged.
    pub indexes: Vec<ObjectId>,
}

/// What a repair did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repaired {
    /// Objects removed.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Slots and files removed.
    pub leftovers: u64,
    /// Objects whose index is new.
    pub indexes: Vec<ObjectId>,
    /// What could not be done.
    pub failed: Vec<Failed>,
}

/// Something that a repair could not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// The file or object.
    pub file: String,
    /// Why.
    pub detail: String,
}

impl Plan {
    /// What of a report may be repaired. Without metadata that is nothing: what is needed is not known then.
    #[must_use]
    pub fn of(report: &Report) -> Plan {
        let Some(state) = &report.state else { return Plan::default() };
        let next = state.numbers().next_object;
        let is_orphan = |id: ObjectId| id.0 < next;
        let objects = report.objects.iter();
        let mut plan = Plan {
            orphans: objects
                .clone()
                .filter(|object| object.used == ObjectUse::Orphan && is_orphan(object.id))
                .map(|object| (object.id, object.bytes))
                .collect(),
            indexes: objects
                .filter(|object| object.used == ObjectUse::Referenced && object.index_damaged)
                .map(|object| object.id)
                .collect(),
            ..Plan::default()
        };
        let slots = report.slots.iter().filter(|slot| slot.used == SlotUse::LeftOver);
        plan.slots = slots.map(|slot| slot.key.clone()).collect();
        for log in &report.logs {
            let ended = !matches!(log.state, Some(SessionState::Live | SessionState::Fenced));
            let segments = log.segments.iter();
            let committed = segments.filter(|segment| ended && segment.state == SegmentState::Committed);
            plan.files.extend(committed.map(|segment| segment.file.clone()));
        }
        let in_store = |file: &str| file.starts_with(&format!("{}/", report.objects_in));
        plan.staged = report.leftovers.iter().any(|left| in_store(&left.file));
        let left = report.leftovers.iter().filter(|left| !in_store(&left.file));
        plan.files.extend(left.map(|left| left.file.clone()));
        plan
    }

    /// Whether there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Plan::default()
    }
}

impl Checker {
    /// Does what `plan` says, which was made of the last report of this checker.
    ///
    /// # Errors
    /// The directory cannot be written, or is in use; nothing was done then.
    pub async fn repair(&mut self, report: &Report, plan: &Plan) -> Result<Repaired, CheckError> {
        let name = &report.data_dir;
        let disk = RealDisk::open(&self.data_dir).map_err(|error| CheckError::disk(name, &error))?;
        if self.lock.is_none() {
            let lock = disk.lock(LOCK_FILE).await;
            self.lock = Some(lock.map_err(|error| CheckError::disk(name, &error))?);
        }
        Ok(self.carry_out(&disk, report, plan).await)
    }

    async fn carry_out(&self, disk: &RealDisk, report: &Report, plan: &Plan) -> Repaired {
        let mut done = Repaired::default();
        for file in &plan.files {
            match remove(disk, file).await {
                Ok(()) => done.leftovers += 1,
                Err(error) => done.failed.push(Failed { file: file.clone(), detail: error.to_string() }),
            }
        }
        let (Some(place), Some(state)) = (&self.store, &report.state) else { return done };
        let failed = |file: &str, detail: String| Failed { file: format!("{}/{file}", self.prefix), detail };
        for orphans in plan.orphans.chunks(AT_ONCE) {
            let keys: Vec<String> = orphans.iter().map(|(id, _)| data_key(state.cluster(), *id)).collect();
            match place.store.delete_many(&keys).await {
                Ok(()) => {
                    done.objects += orphans.len() as u64;
                    done.bytes += orphans.iter().map(|(_, bytes)| bytes).sum::<u64>();
                }
                Err(error) => done.failed.push(failed(&keys[0], error.to_string())),
            }
        }
        for keys in plan.slots.chunks(AT_ONCE) {
            match place.store.delete_many(keys).await {
                Ok(()) => done.leftovers += keys.len() as u64,
                Err(error) => done.failed.push(failed(&keys[0], error.to_string())),
            }
        }
        if plan.staged {
            match place.remove_staged().await {
                Ok(count) => done.leftovers += count,
                Err(error) => done.failed.push(failed("", error.to_string())),
            }
        }
        for id in &plan.indexes {
            match rebuild_index(&place.store, state, *id).await {
                Ok(()) => done.indexes.push(*id),
                Err(why) => done.failed.push(failed(&data_key(state.cluster(), *id), why)),
            }
        }
        done
    }
}

/// Removes a file, durably, and the directory of a log that is empty then.
async fn remove(disk: &RealDisk, file: &str) -> Result<(), DiskError> {
    disk.remove(file).await?;
    let dir = file.rsplit_once('/').map_or("", |(dir, _)| dir);
    disk.sync_dir(dir).await?;
    let is_log = dir.strip_prefix(WAL_DIR).is_some_and(|rest| rest.starts_with('/'));
    if is_log && disk.read_dir(dir).await?.is_empty() {
        disk.remove_dir(dir).await?;
        disk.sync_dir(WAL_DIR).await?;
    }
    Ok(())
}
