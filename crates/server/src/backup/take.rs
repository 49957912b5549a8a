//! Taking a backup.
//!
//! Owns the order: hold the collector, commit, look once, copy the objects of that view, then the metadata, then the manifest.
//! Guarantees that what was acknowledged before is in it, and that no object of the view is deleted meanwhile. Never stops
//! appends, and never writes to the node's store.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kelda_engine::{Engine, Health};
use kelda_env::Env;
use kelda_format::backup::Manifest;
use kelda_format::keys::{backup_manifest_key, backup_snapshot_key};
use kelda_format::rows::ObjectRow;
use kelda_format::{ClusterId, ObjectId, Timestamp, wire};
use kelda_meta::{Meta, State};

use super::copy::{Copied, Copier};
use super::{BackupError, Place, Progress, Stage, settle, target};

/// How often it is tried to have everything committed, while the node replaces a session that ended.
const COMMIT_TRIES: u32 = 60;
/// The pause between two tries.
const COMMIT_PAUSE: Duration = Duration::from_millis(500);

/// A backup that was taken.
#[derive(Clone, Debug)]
pub struct Taken {
    /// The cluster.
    pub cluster: ClusterId,
    /// Where it is.
    pub place: String,
    /// What it is.
    pub manifest: Manifest,
    /// What was copied for it.
    pub copied: Copied,
}

/// Takes a backup of a running node whose objects are in `store`.
///
/// # Errors
/// [`BackupError`]; what was copied stays, and is not copied again by the next one.
pub async fn of_running(
    env: &Env,
    engine: &Engine,
    meta: &Arc<dyn Meta>,
    store: &Place,
    to: &Place,
    progress: &Progress,
) -> Result<Taken, BackupError> {
    target::claim(to, meta.view().cluster()).await?;
    progress.enter(Stage::Committing);
    let _hold = engine.hold_collection();
    commit(env, engine).await?;
    take(env, store, &meta.view(), to, progress).await
}

/// Takes a backup of the data directory of a stopped node.
///
/// # Errors
/// As [`of_running`].
pub async fn of_stopped(
    data_dir: &Path,
    store: Option<&str>,
    to: &str,
    progress: &Progress,
) -> Result<Taken, BackupError> {
    let stopped = settle::settle(data_dir, store, progress).await?;
    let to = Place::open(&stopped.env, to).await?;
    target::claim(&to, stopped.state.cluster()).await?;
    take(&stopped.env, &stopped.store, &stopped.state, &to, progress).await
}

/// Has everything committed that was acknowledged before.
async fn commit(env: &Env, engine: &Engine) -> Result<(), BackupError> {
    for _ in 0..COMMIT_TRIES {
        if engine.flush().await {
            return Ok(());
        }
        if let Health::Ended { reason } = engine.health() {
            return Err(BackupError::Failed(format!("the node does not serve any more: {reason}")));
        }
        if let Health::Damaged { file, position, detail } = engine.health() {
            let what = format!("the node's log is damaged: {file} at byte {position}: {detail}");
            return Err(BackupError::Damaged(what));
        }
        env.clock.sleep(COMMIT_PAUSE).await;
    }
    let limit = COMMIT_PAUSE * COMMIT_TRIES;
    Err(BackupError::Failed(format!(
        "the node could not commit what it had taken within {limit:?}: see its log"
    )))
}

async fn take(
    env: &Env,
    store: &Place,
    state: &State,
    to: &Place,
    progress: &Progress,
) -> Result<Taken, BackupError> {
    let cluster = state.cluster();
    let failed = |error| BackupError::store(&to.name, error);
    let at = Timestamp(env.clock.now());
    let earlier = target::manifests(to, cluster).await?;
    // They may have been repaired since.
    let suspect: BTreeSet<ObjectId> = earlier.iter().flat_map(|it| it.damaged.iter().copied()).collect();
    let objects: Vec<ObjectRow> = state.objects().copied().collect();
    let copier = Copier { env, from: store, to, cluster, progress };
    let copied = copier.run(&objects, &suspect).await?;
    progress.enter(Stage::Finishing);
    let id = id(at, env.random.nonce());
    let snapshot = state.to_snapshot();
    let manifest = Manifest {
        id: id.clone(),
        at,
        software: env!("CARGO_PKG_VERSION").to_owned(),
        applied: state.applied(),
        snapshot_bytes: snapshot.len() as u64,
        snapshot_crc: wire::crc(&snapshot),
        objects: objects.len() as u64,
        object_bytes: objects.iter().map(|row| row.bytes).sum(),
        streams: state.stream_count() as u64,
        records: state.streams().map(|row| row.end.since(row.start)).sum(),
        missing: copied.missing.clone(),
        damaged: copied.damaged.clone(),
    };
    put(to, &backup_snapshot_key(cluster, &id), snapshot).await.map_err(failed)??;
    // By this the backup exists.
    put(to, &backup_manifest_key(cluster, &id), manifest.encode(cluster)).await.map_err(failed)??;
    Ok(Taken { cluster, place: to.name.clone(), manifest, copied })
}

/// Writes an object and reads it again.
async fn put(to: &Place, key: &str, bytes: Bytes) -> Result<Result<(), BackupError>, kelda_env::StoreError> {
    to.store.put(key, bytes.clone()).await?;
    let found = to.store.get(key).await?;
    let same = found == bytes;
    Ok(same.then_some(()).ok_or_else(|| {
        BackupError::Failed(format!("{}: object {key} does not read as it was written", to.name))
    }))
}

/// The time to the second and something random: sorts by time, and is never given twice.
fn id(at: Timestamp, nonce: [u8; 16]) -> String {
    let time = i64::try_from(at.0).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    let time = time.unwrap_or_default().strftime("%Y%m%dT%H%M%SZ").to_string();
    let [a, b, c, d, ..] = nonce;
    format!("{time}-{a:02x}{b:02x}{c:02x}{d:02x}")
}

#[cfg(test)]
mod tests {
    use kelda_format::backup::is_backup_id;

    use super::*;

    #[test]
    fn an_id_says_when_and_can_be_part_of_a_key() {
        let made = id(Timestamp(1_796_040_000_000), [0xab; 16]);
        assert_eq!(made, "20261130T120000Z-abababab");
        assert!(is_backup_id(&made));
        assert!(is_backup_id(&id(Timestamp(u64::MAX), [0; 16])));
    }
}
