//! The claim of an object store by one cluster.
//!
//! Owns the marker object, which is created only if absent. Guarantees that two clusters never share a store, and that a
//! store which does not keep "create only if absent" is refused, since fencing rests on it. Never overwrites a marker.

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
    let marker = Bytes::copy_from_slice(&encode_marker(cluster));
    match store.put_if_absent(MARKER_KEY, marker.clone()).await {
        // `AlreadyExists` is a hint (P8): what is there decides.
        Ok(()) | Err(StoreError::AlreadyExists { .. }) => {}
        Err(error) => return Err(unusable(&error)),
    }
    let found = store.get(MARKER_KEY).await.map_err(|error| unusable(&error))?;
    let found = decode_marker(&found).map_err(|error| {
        let detail = format!("object {MARKER_KEY} of the object store: {error}");
        match error.newer {
            Some(_) => StartError::Newer { data_dir: data_dir(), detail },
            None => StartError::Damaged { data_dir: data_dir(), detail },
        }
    })?;
    if found != cluster {
        let detail =
            format!("the object store belongs to cluster {found}, the metadata to cluster {cluster}");
        return Err(StartError::OtherCluster { data_dir: data_dir(), detail });
    }
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
