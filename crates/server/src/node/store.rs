//! The object store of a node.
//!
//! Owns which store it is and what lies around it: counts always, and for a store of the network also a bound on requests
//! in flight, time limits and second attempts (`kelda_env::layers` says in which order and why). Never asks the store
//! anything but to remove what interrupted writes left in a directory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kelda_env::layers::{Counted, Delayed, Limited, Patience, Patient, Retry, StoreCounts};
use kelda_env::{Disk, Env, LocalStore, Place, Store};
use kelda_store::StoreUrl;

use super::{OBJECTS_DIR, StartError};
use crate::config::NodeSettings;

/// A store with its layers.
pub(super) struct Opened {
    pub(super) store: Arc<dyn Store>,
    pub(super) counts: Arc<StoreCounts>,
    /// How texts name it.
    pub(super) name: String,
    /// Whether it is reached over the network.
    pub(super) is_remote: bool,
}

/// Opens the store that the settings name.
///
/// # Errors
/// [`StartError`].
pub(super) async fn open(env: &Env, settings: &NodeSettings, data_dir: &str) -> Result<Opened, StartError> {
    match &settings.store {
        StoreUrl::Local => {
            let store = local(&host_path(env, data_dir, OBJECTS_DIR)?, data_dir).await?;
            Ok(counted(env, settings, store, format!("{data_dir}/{OBJECTS_DIR}")))
        }
        StoreUrl::File(path) => {
            let name = path.display().to_string();
            let unusable = |detail: String| StartError::Store { store: name.clone(), detail };
            let store = local(path, data_dir).await.map_err(|error| unusable(error.to_string()))?;
            Ok(counted(env, settings, store, name))
        }
        StoreUrl::Remote(url) => {
            let patience = Patience { timeout: settings.store_timeout, retry: Retry::default() };
            let failed = |error: kelda_store::OpenError| StartError::Store {
                store: url.to_string(),
                detail: error.to_string(),
            };
            let store = Arc::new(kelda_store::open(url, env, patience).map_err(failed)?);
            let opened = counted(env, settings, store, url.to_string());
            let (clock, random) = (Arc::clone(&env.clock), Arc::clone(&env.random));
            let patient = Patient::new(opened.store, clock, random, patience);
            let places = usize::try_from(settings.store_concurrency).unwrap_or(usize::MAX);
            let store = Arc::new(Limited::new(Arc::new(patient), places));
            Ok(Opened { store, is_remote: true, ..opened })
        }
    }
}

/// The store, slowed down where that is asked for, and counted.
fn counted(env: &Env, settings: &NodeSettings, store: Arc<dyn Store>, name: String) -> Opened {
    let delays = settings.store_delay.clone();
    let store = match delays.is_none() {
        true => store,
        false => Arc::new(Delayed::new(store, Arc::clone(&env.clock), delays)),
    };
    let counted = Counted::new(store);
    let counts = counted.counts();
    Opened { store: Arc::new(counted), counts, name, is_remote: false }
}

async fn local(path: &Path, data_dir: &str) -> Result<Arc<dyn Store>, StartError> {
    let store = LocalStore::open(path).map_err(|error| StartError::disk(data_dir, &error))?;
    let removed = store
        .remove_leftovers()
        .await
        .map_err(|error| StartError::Unusable { data_dir: data_dir.to_owned(), detail: error.to_string() })?;
    if removed > 0 {
        tracing::info!(files = removed, "removed what interrupted writes left in the object store");
    }
    Ok(Arc::new(store))
}

/// Where a path of the data directory is on this machine.
pub(super) fn host_path(env: &Env, data_dir: &str, path: &str) -> Result<PathBuf, StartError> {
    match Disk::place(&*env.disk, path) {
        Place::Host(path) => Ok(path),
        _ => Err(StartError::Unusable {
            data_dir: data_dir.to_owned(),
            detail: "it is not a directory of this machine".to_owned(),
        }),
    }
}
