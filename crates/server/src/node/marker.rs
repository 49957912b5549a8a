//! The claim of an object store by one cluster.
//!
//! Owns the marker object, which is created only if absent. Guarantees that two clusters never share a store, and that a
//! store which does not keep "create only if absent" is refused when it is claimed, since fencing rests on it. Never
//! overwrites a marker, and writes nothing to a store that has the right one.

use bytes::Bytes;
use kelda_env::{Store, StoreError};
use kelda_format::ids::ClusterId;
use kelda_format::keys::{MARKER_KEY, decode_marker, encode_marker};

use super::StartError;

/// Claims `store` for `cluster`, or finds that it has it.
///
/// # Errors
/// The store belongs to another cluster, its marker does not read, or it does not refuse to create what exists.
pub(super) async fn claim(store: &dyn Store, cluster: ClusterId, data_dir: &str) -> Result<(), StartError> {
    let data_dir = || data_dir.to_owned();
    let unusable = |error: &StoreError| match error {
        StoreError::Full { .. } => StartError::Full { data_dir: data_dir(), detail: error.to_string() },
        _ => StartError::Unusable { data_dir: data_dir(), detail: error.to_string() },
    };
    match store.get(MARKER_KEY).await {
        // Nothing is written then, so that a store without space can still be read.
        Ok(found) => return check(&found, cluster, data_dir()),
        Err(StoreError::NotFound { .. }) => {}
        Err(error) => return Err(unusable(&error)),
    }
    let marker = Bytes::copy_from_slice(&encode_marker(cluster));
    match store.put_if_absent(MARKER_KEY, marker.clone()).await {
        // `AlreadyExists` is a hint (P8): what is there decides.
        Ok(()) | Err(StoreError::AlreadyExists { .. }) => {}
        Err(error) => return Err(unusable(&error)),
    }
    let found = store.get(MARKER_KEY).await.map_err(|error| unusable(&error))?;
    check(&found, cluster, data_dir())?;
    match store.put_if_absent(MARKER_KEY, marker).await {
        Err(StoreError::AlreadyExists { .. }) => Ok(()),
        Err(error) => Err(unusable(&error)),
        Ok(()) => {
            let detail =
                "the object store overwrites where it has to create only if absent; fencing rests on that";
            Err(StartError::Unusable { data_dir: data_dir(), detail: detail.to_owned() })
        }
    }
}

/// Whether the marker that is there names `cluster`.
fn check(found: &[u8], cluster: ClusterId, data_dir: String) -> Result<(), StartError> {
    let found = decode_marker(found).map_err(|error| {
        let detail = format!("object {MARKER_KEY} of the object store: {error}");
        match error.newer {
            Some(_) => StartError::Newer { data_dir: data_dir.clone(), detail },
            None => StartError::Damaged { data_dir: data_dir.clone(), detail },
        }
    })?;
    if found != cluster {
        let detail =
            format!("the object store belongs to cluster {found}, the metadata to cluster {cluster}");
        return Err(StartError::OtherCluster { data_dir, detail });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::disallowed_methods)]

    use kelda_env::LocalStore;

    use super::*;

    #[tokio::test]
    async fn a_store_that_is_claimed_is_not_written_to() {
        let dir = tempfile::TempDir::new().unwrap();
        let store = LocalStore::open(dir.path()).unwrap();
        let (own, other) = (ClusterId([1; 16]), ClusterId([2; 16]));
        claim(&store, own, "data").await.unwrap();
        let written = || {
            let folder = std::fs::metadata(dir.path()).unwrap();
            (
                folder.modified().unwrap(),
                std::fs::metadata(dir.path().join(MARKER_KEY)).unwrap().modified().unwrap(),
            )
        };
        let before = written();
        claim(&store, own, "data").await.unwrap();
        assert_eq!(written(), before);
        let refused = claim(&store, other, "data").await;
        assert!(matches!(refused, Err(StartError::OtherCluster { .. })), "{refused:?}");
    }
}
