//! The claim of an object store by one cluster.
//!
//! Owns the marker object, which is created only if absent. Guarantees that two clusters never share a store, that data
//! which lies in one store is not looked for in another, and that a store which does not keep "create only if absent" is
//! refused, since fencing rests on it. Never overwrites a marker, and leaves nothing in a store that has the right one.

use bytes::Bytes;
use kelda_env::{Env, ProbeError, StoreError, probe};
use kelda_format::ids::ClusterId;
use kelda_format::keys::{MARKER_KEY, decode_marker, encode_marker};

use super::StartError;
use super::store::Opened;

/// A clock of the store that is further off than this is worth a line in the log, in milliseconds.
const MAX_CLOCK_OFFSET_MS: u64 = 10_000;

/// Claims a store for `cluster`, or finds that it has it. `in_use` says that the metadata names objects, which a store
/// without a marker cannot hold. A store of the network is probed; returns by how many milliseconds its clock is ahead then.
///
/// # Errors
/// The store belongs to another cluster or to none though the metadata names objects, its marker does not read, or it does
/// not do what an object store must.
pub(super) async fn claim(
    opened: &Opened,
    env: &Env,
    cluster: ClusterId,
    in_use: bool,
    data_dir: &str,
) -> Result<Option<i64>, StartError> {
    let claim = Claim { opened, cluster, data_dir };
    let marked = match opened.store.get(MARKER_KEY).await {
        Ok(found) => {
            claim.check(&found)?;
            true
        }
        Err(StoreError::NotFound { .. }) if in_use => return Err(claim.lost()),
        Err(StoreError::NotFound { .. }) => false,
        Err(error) => return Err(claim.unusable(&error)),
    };
    let clock_ahead = match opened.is_remote {
        true => Some(claim.probe(env).await?),
        false => None,
    };
    // Nothing is written to one that is marked, so that a local store without space can still be read.
    if !marked {
        claim.mark().await?;
    }
    Ok(clock_ahead)
}

struct Claim<'a> {
    opened: &'a Opened,
    cluster: ClusterId,
    data_dir: &'a str,
}

impl Claim<'_> {
    async fn probe(&self, env: &Env) -> Result<i64, StartError> {
        let prefix = format!("{}/", self.cluster);
        let probed = probe(&*self.opened.store, &*env.clock, &*env.random, &prefix).await;
        let probed = match probed {
            Ok(probed) if probed.swaps => probed,
            Ok(_) => {
                return Err(self.refused(
                    "asked to replace an object only if it is still the version that it is, it said that it cannot; it \
                     has to, since that is how the newest snapshot is found"
                        .to_owned(),
                ));
            }
            Err(ProbeError::Failed(error)) => return Err(self.unusable(&error)),
            Err(error) => return Err(self.refused(error.to_string())),
        };
        if probed.clock_ahead_ms.unsigned_abs() > MAX_CLOCK_OFFSET_MS {
            tracing::warn!(
                store = self.opened.name,
                clock_ahead_ms = probed.clock_ahead_ms,
                "the clock of the object store and that of this machine differ; check the time of this machine"
            );
        }
        Ok(probed.clock_ahead_ms)
    }

    async fn mark(&self) -> Result<(), StartError> {
        let marker = Bytes::copy_from_slice(&encode_marker(self.cluster));
        let store = &self.opened.store;
        match store.put_if_absent(MARKER_KEY, marker.clone()).await {
            // `AlreadyExists` is a hint (P8): what is there decides.
            Ok(()) | Err(StoreError::AlreadyExists { .. }) => {}
            Err(error) => return Err(self.unusable(&error)),
        }
        let found = store.get(MARKER_KEY).await.map_err(|error| self.unusable(&error))?;
        self.check(&found)?;
        match store.put_if_absent(MARKER_KEY, marker).await {
            Err(StoreError::AlreadyExists { .. }) => Ok(()),
            Err(error) => Err(self.unusable(&error)),
            Ok(()) => Err(self.refused(
                "it overwrites where it has to create only if absent; fencing rests on that".to_owned(),
            )),
        }
    }

    /// Whether the marker that is there names the cluster.
    fn check(&self, found: &[u8]) -> Result<(), StartError> {
        let found = decode_marker(found).map_err(|error| {
            let detail = format!("object {MARKER_KEY} of the object store {}: {error}", self.opened.name);
            let data_dir = self.data_dir.to_owned();
            match error.newer {
                Some(_) => StartError::Newer { data_dir, detail },
                None => StartError::Damaged { data_dir, detail },
            }
        })?;
        if found != self.cluster {
            let detail = format!(
                "the object store {} belongs to cluster {found}, the metadata to cluster {}",
                self.opened.name, self.cluster
            );
            return Err(StartError::OtherCluster { data_dir: self.data_dir.to_owned(), detail });
        }
        Ok(())
    }

    fn lost(&self) -> StartError {
        self.refused(format!(
            "it has no object {MARKER_KEY}, so it holds nothing of cluster {}, but the metadata in {} names objects; name \
             the store that this data directory was used with in --store",
            self.cluster, self.data_dir
        ))
    }

    fn refused(&self, detail: String) -> StartError {
        StartError::Store { store: self.opened.name.clone(), detail }
    }

    fn unusable(&self, error: &StoreError) -> StartError {
        let (data_dir, detail) = (self.data_dir.to_owned(), error.to_string());
        match error {
            _ if self.opened.is_remote => self.refused(detail),
            StoreError::Full { .. } => StartError::Full { data_dir, detail },
            _ => StartError::Unusable { data_dir, detail },
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::disallowed_methods)]

    use std::sync::Arc;

    use kelda_env::sim::Sim;
    use kelda_env::{LocalStore, Store};

    use super::*;

    fn opened(store: Arc<dyn Store>, is_remote: bool) -> Opened {
        Opened { store, counts: Arc::default(), name: "store".to_owned(), is_remote }
    }

    const OWN: ClusterId = ClusterId([1; 16]);
    const OTHER: ClusterId = ClusterId([2; 16]);

    #[tokio::test]
    async fn a_store_that_is_claimed_is_not_written_to() {
        let dir = tempfile::TempDir::new().unwrap();
        let env = Env::real(&dir.path().join("data")).unwrap();
        let path = dir.path().join("objects");
        let opened = opened(Arc::new(LocalStore::open(&path).unwrap()), false);
        claim(&opened, &env, OWN, false, "data").await.unwrap();
        let written = || {
            let folder = std::fs::metadata(&path).unwrap();
            (
                folder.modified().unwrap(),
                std::fs::metadata(path.join(MARKER_KEY)).unwrap().modified().unwrap(),
            )
        };
        let before = written();
        claim(&opened, &env, OWN, true, "data").await.unwrap();
        assert_eq!(written(), before);
        let refused = claim(&opened, &env, OTHER, false, "data").await;
        assert!(matches!(refused, Err(StartError::OtherCluster { .. })), "{refused:?}");
    }

    #[test]
    fn a_store_without_a_marker_is_refused_where_objects_are_named() {
        Sim::run(1, |sim| async move {
            let (env, store) = (sim.node("node").env(), sim.store());
            let opened = opened(Arc::new(store.clone()), true);
            let refused = claim(&opened, &env, OWN, true, "data").await.unwrap_err().to_string();
            assert!(
                refused.contains("has no object kelda-cluster") && refused.contains("--store"),
                "{refused}"
            );
            assert!(store.keys().is_empty(), "a store of somebody else is not written to");
            claim(&opened, &env, OWN, false, "data").await.unwrap();
            assert_eq!(store.keys(), [MARKER_KEY], "the probe leaves nothing");
            claim(&opened, &env, OWN, true, "data").await.unwrap();
            let refused = claim(&opened, &env, OTHER, false, "data").await;
            assert!(matches!(refused, Err(StartError::OtherCluster { .. })), "{refused:?}");
        });
    }
}
