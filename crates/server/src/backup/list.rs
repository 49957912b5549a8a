//! What backups a place has.

use kelda_format::ClusterId;
use kelda_format::backup::Manifest;

use super::{BackupError, Place, target};

/// The cluster of a place of backups and its backups, the oldest first; nothing when the place has no marker.
///
/// # Errors
/// The place cannot be read, is a node's store, or a manifest is damaged.
pub async fn list(place: &Place) -> Result<Option<(ClusterId, Vec<Manifest>)>, BackupError> {
    match target::cluster_of(place).await? {
        None => Ok(None),
        Some(cluster) => Ok(Some((cluster, target::manifests(place, cluster).await?))),
    }
}
