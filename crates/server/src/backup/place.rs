//! An object store with its name.
//!
//! Owns the way from what an operator writes to a store. Guarantees that errors can name it. Never claims it.

use std::path::Path;
use std::sync::Arc;

use kelda_env::layers::{Limited, Patience, Patient};
use kelda_env::{Env, LocalStore, Store, StoreError};
use kelda_store::{StoreUrl, UrlError};

use super::BackupError;

/// Requests to a store of the network that are on their way at once.
const REQUESTS_AT_ONCE: usize = 64;

/// An object store, and how it was named.
#[derive(Clone)]
pub struct Place {
    /// Its URL.
    pub name: String,
    /// The store.
    pub store: Arc<dyn Store>,
    /// The same, when it is a directory of this machine.
    local: Option<Arc<LocalStore>>,
}

impl Place {
    /// The store of a URL, with time limits, second attempts and a bound on requests when it is one of the network.
    ///
    /// # Errors
    /// It is no URL of a store, or cannot be opened.
    pub async fn open(env: &Env, text: &str) -> Result<Place, BackupError> {
        let bad = |reason: String| BackupError::BadUrl { text: text.to_owned(), reason };
        match text.parse().map_err(|error: UrlError| bad(error.to_string()))? {
            StoreUrl::Local => Err(bad("this is the store in a data directory: name another one".to_owned())),
            StoreUrl::File(path) => Place::directory(text.to_owned(), &path),
            StoreUrl::Remote(url) => {
                let patience = Patience::default();
                let remote =
                    kelda_store::open(&url, env, patience).map_err(|error| bad(error.to_string()))?;
                let (clock, random) = (Arc::clone(&env.clock), Arc::clone(&env.random));
                let patient = Patient::new(Arc::new(remote), clock, random, patience);
                let store = Limited::new(Arc::new(patient), REQUESTS_AT_ONCE);
                Ok(Place::opened(url.to_string(), Arc::new(store)))
            }
        }
    }

    fn directory(name: String, path: &Path) -> Result<Place, BackupError> {
        let store = LocalStore::open(path);
        let store =
            store.map_err(|error| BackupError::BadUrl { text: name.clone(), reason: error.to_string() })?;
        let store = Arc::new(store);
        Ok(Place { name, store: Arc::clone(&store) as Arc<dyn Store>, local: Some(store) })
    }

    /// A store that is open.
    #[must_use]
    pub fn opened(name: String, store: Arc<dyn Store>) -> Place {
        Place { name, store, local: None }
    }

    /// What writes that were interrupted left beside the objects; only a directory shows it.
    pub(crate) async fn staged(&self) -> Result<Vec<String>, StoreError> {
        match &self.local {
            Some(store) => store.leftovers().await,
            None => Ok(Vec::new()),
        }
    }

    /// Removes that. Only for who has locked the node's data directory.
    pub(crate) async fn remove_staged(&self) -> Result<u64, StoreError> {
        match &self.local {
            Some(store) => store.remove_leftovers().await,
            None => Ok(0),
        }
    }

    /// The store of a data directory, which is in it when no other is named.
    ///
    /// # Errors
    /// As [`Place::open`].
    pub async fn of_node(env: &Env, data_dir: &Path, text: Option<&str>) -> Result<Place, BackupError> {
        match text {
            None | Some("local") => {
                let path = data_dir.join(crate::node::OBJECTS_DIR);
                Place::directory(format!("file://{}", path.display()), &path)
            }
            Some(text) => Place::open(env, text).await,
        }
    }
}
