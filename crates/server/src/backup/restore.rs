//! Restoring a backup.
//!
//! Owns the order: mark the data directory as unfinished, copy the objects, write the metadata beside their place, claim the
//! store, put the metadata in their place, take the mark away. Guarantees that it only begins where nothing is, that it goes on
//! where it was interrupted when it is asked for the same again, and that no node starts in between. Never gives out an id
//! that the original may have given out since the backup was taken.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use kelda_env::{DiskError, Env, OpenMode, Place as DiskPlace, StoreError};
use kelda_format::backup::Manifest;
use kelda_format::keys::{MARKER_KEY, backup_snapshot_key, decode_marker, encode_marker};
use kelda_format::rows::{Nonce, ObjectRow};
use kelda_format::{ClusterId, Timestamp, wire};
use kelda_meta::{FIRST_FEATURE_LEVEL, State, invariants};
use kelda_metalog::{SqliteLog, seed};

use super::copy::{Copied, Copier};
use super::unfinished::{self, Unfinished};
use super::{BackupError, Place, Progress, Stage, target};
use crate::node::{LOCK_FILE, META_DIR, META_FILE, WAL_DIR};

/// The metadata until they are complete.
const NEW_META: &str = "restore.sqlite";
/// What SQLite keeps beside them.
const NEW_META_BESIDE: [&str; 2] = ["restore.sqlite-wal", "restore.sqlite-shm"];
/// Ids go on so far behind those of the backup, and up to as far again: more than the original gives out, and far below what
/// JSON holds exactly.
const IDS_AHEAD: u64 = 1 << 40;

/// What was restored.
#[derive(Clone, Debug)]
pub struct Restored {
    /// The cluster, which is that of the backup.
    pub cluster: ClusterId,
    /// The backup.
    pub manifest: Manifest,
    /// Where the objects are now.
    pub store: String,
    /// What was copied, and what of it is missing or damaged.
    pub copied: Copied,
}

/// Restores a backup of the place `from`, the newest when none is named, into `data_dir` and the store `store`, which is in
/// that directory when none is named.
///
/// # Errors
/// [`BackupError`]; `Refused` before anything is changed. After another one the same may be asked for again.
pub async fn restore(
    from: &str,
    backup: Option<&str>,
    data_dir: &Path,
    store: Option<&str>,
    progress: &Progress,
) -> Result<Restored, BackupError> {
    let name = data_dir.display().to_string();
    let disk = |error: DiskError| BackupError::disk(&name, error);
    let env = Env::real(data_dir).map_err(disk)?;
    let _lock = env.disk.lock(LOCK_FILE).await.map_err(disk)?;
    let from = Place::open(&env, from).await?;
    let Some(cluster) = target::cluster_of(&from).await? else {
        return Err(BackupError::Refused(format!("{} is no place of backups: it has no marker", from.name)));
    };
    let begun = unfinished::read(&*env.disk).await.map_err(disk)?;
    let asked = backup.or(begun.as_ref().map(|begun| begun.backup.as_str()));
    let manifest = chosen(&from, cluster, asked).await?;
    let to = Place::of_node(&env, data_dir, store).await?;
    let wanted = |claiming| Unfinished {
        backup: manifest.id.clone(),
        from: from.name.clone(),
        store: to.name.clone(),
        claiming,
    };
    if let Some(begun) = &begun
        && *begun != wanted(begun.claiming)
    {
        let what = format!("backup {} from {} into {}", begun.backup, begun.from, begun.store);
        return Err(BackupError::Refused(format!(
            "{name}: a restoration of {what} was not finished: ask for the same again, or remove the directory"
        )));
    }
    let restoration =
        Restoration { env: &env, name: &name, from: &from, to: &to, cluster, manifest: &manifest };
    let claiming = begun.as_ref().is_some_and(|begun| begun.claiming);
    if env.disk.exists(META_FILE).await.map_err(disk)? && claiming {
        // All that was left to do is to take the mark away.
        unfinished::remove(&*env.disk).await.map_err(disk)?;
        let copied = Copied { present: manifest.objects, ..Copied::default() };
        return Ok(Restored { cluster, manifest: manifest.clone(), store: to.name.clone(), copied });
    }
    restoration.refuse_what_is_there(begun.is_some(), claiming).await?;
    let state = restoration.state().await?;
    unfinished::write(&*env.disk, &wanted(claiming)).await.map_err(disk)?;
    let objects: Vec<ObjectRow> = state.objects().copied().collect();
    let copier = Copier { env: &env, from: &from, to: &to, cluster, progress };
    let copied = copier.run(&objects, &BTreeSet::new()).await?;
    progress.enter(Stage::Finishing);
    restoration.write_metadata(&state).await?;
    unfinished::write(&*env.disk, &wanted(true)).await.map_err(disk)?;
    restoration.claim(claiming).await?;
    restoration.put_metadata_in_place().await.map_err(disk)?;
    unfinished::remove(&*env.disk).await.map_err(disk)?;
    Ok(Restored { cluster, manifest: manifest.clone(), store: to.name.clone(), copied })
}

async fn chosen(from: &Place, cluster: ClusterId, asked: Option<&str>) -> Result<Manifest, BackupError> {
    match asked {
        Some(id) => target::manifest(from, cluster, id).await,
        None => target::manifests(from, cluster)
            .await?
            .pop()
            .ok_or_else(|| BackupError::Refused(format!("{} has no backup that is complete", from.name))),
    }
}

struct Restoration<'a> {
    env: &'a Env,
    name: &'a str,
    from: &'a Place,
    to: &'a Place,
    cluster: ClusterId,
    manifest: &'a Manifest,
}

impl Restoration<'_> {
    /// Nothing is restored over what is there, unless an earlier try of the same left it.
    async fn refuse_what_is_there(&self, again: bool, claiming: bool) -> Result<(), BackupError> {
        let disk = |error: DiskError| BackupError::disk(self.name, error);
        let refused = |what: String| Err(BackupError::Refused(what));
        for (path, what) in [(META_FILE, "metadata"), (WAL_DIR, "a write-ahead log")] {
            if self.env.disk.exists(path).await.map_err(disk)? {
                let name = self.name;
                return refused(format!("{name} has {what} already: name a directory that does not exist"));
            }
        }
        let place = &self.to.name;
        let failed = |error: StoreError| BackupError::store(place, error);
        let marker = match self.to.store.get(MARKER_KEY).await {
            Ok(bytes) => Some(decode_marker(&bytes)),
            Err(error) if error.is_not_found() => None,
            Err(error) => return Err(failed(error)),
        };
        match marker {
            None => {}
            Some(Ok(found)) if claiming && found == self.cluster => {}
            Some(Ok(found)) => {
                return refused(format!("{place} belongs to cluster {found}: name a store that is empty"));
            }
            Some(Err(error)) => {
                return refused(format!("{place}: object {MARKER_KEY}: {error}; name a store that is empty"));
            }
        }
        let prefix = format!("{}/", self.cluster);
        if !again && !self.to.store.list_page(&prefix, None, 1).await.map_err(failed)?.is_empty() {
            return refused(format!(
                "{place} has objects of cluster {} though no marker: name a store that is empty",
                self.cluster
            ));
        }
        Ok(())
    }

    /// The state of the backup, as a node goes on from it.
    async fn state(&self) -> Result<State, BackupError> {
        let key = backup_snapshot_key(self.cluster, &self.manifest.id);
        let damaged =
            |what: String| BackupError::Damaged(format!("{}: object {key}: {what}", self.from.name));
        let bytes = match self.from.store.get(&key).await {
            Ok(bytes) => bytes,
            Err(error) if error.is_not_found() => return Err(damaged("it does not exist".to_owned())),
            Err(error) => return Err(BackupError::store(&self.from.name, error)),
        };
        if bytes.len() as u64 != self.manifest.snapshot_bytes
            || wire::crc(&bytes) != self.manifest.snapshot_crc
        {
            return Err(damaged("it is not what the manifest says".to_owned()));
        }
        let state = State::from_snapshot(&bytes).map_err(|error| damaged(error.to_string()))?;
        if state.cluster() != self.cluster {
            return Err(damaged(format!("it is of cluster {}", state.cluster())));
        }
        let level = state.feature_level();
        if level > FIRST_FEATURE_LEVEL {
            return Err(BackupError::Refused(format!(
                "the backup is of a cluster at feature level {level}, this version knows {FIRST_FEATURE_LEVEL}: use a \
                 newer one"
            )));
        }
        let random = self.env.random.nonce().first_chunk().copied().map_or(0, u64::from_le_bytes);
        let restored = state.restored(IDS_AHEAD + random % IDS_AHEAD, Timestamp(self.env.clock.now()));
        for state in [&state, &restored] {
            invariants::check(state).map_err(|broken| damaged(format!("it contradicts itself: {broken}")))?;
        }
        Ok(restored)
    }

    /// Writes the metadata beside their place.
    async fn write_metadata(&self, state: &State) -> Result<(), BackupError> {
        let disk = |error: DiskError| BackupError::disk(self.name, error);
        let failed = |error: &dyn std::fmt::Display| {
            BackupError::Failed(format!("{}: the metadata cannot be written: {error}", self.name))
        };
        for name in [&[NEW_META][..], &NEW_META_BESIDE].concat() {
            match self.env.disk.remove(name).await {
                Err(error) if !error.is_not_found() => return Err(disk(error)),
                _ => {}
            }
        }
        let log = SqliteLog::open(self.env, self.host_path()?).await.map_err(|error| failed(&error))?;
        seed(&log, state, Nonce(self.env.random.nonce())).await.map_err(|error| failed(&error))?;
        log.empty_wal().await.map_err(|error| failed(&error))?;
        drop(log);
        // What SQLite had beside the file is in it now.
        for name in NEW_META_BESIDE {
            let left = self.env.disk.exists(name).await.map_err(disk)?;
            if left && self.env.disk.len(name).await.map_err(disk)? > 0 {
                return Err(failed(&format!("{name} is still in use")));
            }
        }
        let file = self.env.disk.open(NEW_META, OpenMode::ReadWrite).await.map_err(disk)?;
        file.sync_data().await.map_err(disk)
    }

    fn host_path(&self) -> Result<PathBuf, BackupError> {
        match self.env.disk.place(NEW_META) {
            DiskPlace::Host(path) => Ok(path),
            _ => Err(BackupError::Refused(format!("{} is not a directory of this machine", self.name))),
        }
    }

    /// Claims the store. An earlier try may have done it already, which nobody can tell from another's claim.
    async fn claim(&self, before: bool) -> Result<(), BackupError> {
        let marker = Bytes::copy_from_slice(&encode_marker(self.cluster));
        let place = &self.to.name;
        match self.to.store.put_if_absent(MARKER_KEY, marker.clone()).await {
            Ok(()) => return Ok(()),
            Err(StoreError::AlreadyExists { .. }) if before => {}
            Err(StoreError::AlreadyExists { .. }) => {
                let what = format!("{place} was claimed by somebody else meanwhile: name another store");
                return Err(BackupError::Failed(what));
            }
            Err(error) if error.is_outcome_unknown() => {}
            Err(error) => return Err(BackupError::store(place, error)),
        }
        match self.to.store.get(MARKER_KEY).await {
            Ok(found) if found == marker => Ok(()),
            Ok(_) => Err(BackupError::Failed(format!("{place} was claimed by somebody else meanwhile"))),
            Err(error) => Err(BackupError::store(place, error)),
        }
    }

    async fn put_metadata_in_place(&self) -> Result<(), DiskError> {
        let disk = &self.env.disk;
        disk.create_dir_all(META_DIR).await?;
        disk.rename(NEW_META, META_FILE).await?;
        disk.sync_dir(META_DIR).await?;
        for name in NEW_META_BESIDE {
            match disk.remove(name).await {
                Err(error) if !error.is_not_found() => return Err(error),
                _ => {}
            }
        }
        disk.sync_dir("").await
    }
}
