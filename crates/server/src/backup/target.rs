//! A place of backups.
//!
//! Owns its marker and the reading of its manifests. Guarantees that backups of two clusters never share a place, and that no
//! node's store becomes one. Never overwrites a marker.

use bytes::Bytes;
use kelda_env::StoreError;
use kelda_format::ClusterId;
use kelda_format::backup::Manifest;
use kelda_format::keys::{
    MARKER_KEY, backup_manifest_key, backup_prefix, decode_backup_marker, encode_backup_marker,
    parse_manifest_key,
};

use super::{BackupError, Place};

/// Claims a place for the backups of `cluster`, or finds that it has it.
pub(super) async fn claim(place: &Place, cluster: ClusterId) -> Result<(), BackupError> {
    let failed = |error| BackupError::store(&place.name, error);
    if let Some(found) = cluster_of(place).await? {
        return check(place, found, cluster);
    }
    let marker = Bytes::copy_from_slice(&encode_backup_marker(cluster));
    match place.store.put_if_absent(MARKER_KEY, marker).await {
        // Whatever came of it: what is there decides (P8).
        Ok(()) | Err(StoreError::AlreadyExists { .. }) => {}
        Err(error) if error.is_outcome_unknown() => {}
        Err(error) => return Err(failed(error)),
    }
    match cluster_of(place).await? {
        Some(found) => check(place, found, cluster),
        None => Err(BackupError::Failed(format!("{}: the marker was written and is not there", place.name))),
    }
}

/// The cluster whose backups a place has; none when it has no marker.
pub(super) async fn cluster_of(place: &Place) -> Result<Option<ClusterId>, BackupError> {
    match place.store.get(MARKER_KEY).await {
        Ok(bytes) => decode_backup_marker(&bytes).map(Some).map_err(|error| {
            BackupError::Refused(format!("{}: object {MARKER_KEY}: {error}; name another place", place.name))
        }),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(BackupError::store(&place.name, error)),
    }
}

fn check(place: &Place, found: ClusterId, cluster: ClusterId) -> Result<(), BackupError> {
    if found == cluster {
        return Ok(());
    }
    Err(BackupError::Refused(format!(
        "{} has backups of cluster {found}, this is cluster {cluster}: name another place",
        place.name
    )))
}

/// The backups of `cluster` in a place, the oldest first.
pub(super) async fn manifests(place: &Place, cluster: ClusterId) -> Result<Vec<Manifest>, BackupError> {
    let listed = place.store.list(&backup_prefix(cluster)).await;
    let listed = listed.map_err(|error| BackupError::store(&place.name, error))?;
    let mut found = Vec::new();
    for info in listed {
        if let Some(id) = parse_manifest_key(cluster, &info.key) {
            found.push(manifest(place, cluster, id).await?);
        }
    }
    found.sort_by(|a, b| (a.at, &a.id).cmp(&(b.at, &b.id)));
    Ok(found)
}

/// One backup.
pub(super) async fn manifest(place: &Place, cluster: ClusterId, id: &str) -> Result<Manifest, BackupError> {
    let key = backup_manifest_key(cluster, id);
    let bytes = match place.store.get(&key).await {
        Ok(bytes) => bytes,
        Err(error) if error.is_not_found() => {
            let hint = "kelda backup --list shows those that are";
            return Err(BackupError::Refused(format!("{}: there is no backup {id}: {hint}", place.name)));
        }
        Err(error) => return Err(BackupError::store(&place.name, error)),
    };
    let damaged = |detail: String| BackupError::Damaged(format!("{}: object {key}: {detail}", place.name));
    let (of, manifest) = Manifest::decode(&bytes).map_err(|error| damaged(error.to_string()))?;
    if of != cluster || manifest.id != id {
        return Err(damaged(format!("it is of backup {} of cluster {of}", manifest.id)));
    }
    Ok(manifest)
}
