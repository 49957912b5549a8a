//! An object store with its name.
//!
//! Owns the way from what an operator writes to a store. Guarantees that errors can name it. Never claims it.

use std::path::Path;
use std::sync::Arc;

use kelda_env::{Env, LocalStore, Store, StoreError};

use super::BackupError;

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
    /// The store of a URL.
    ///
    /// # Errors
    /// It is no URL of a store, or cannot be opened.
    pub async fn open(_env: &Env, text: &str) -> Result<Place, BackupError> {
        let bad = |reason: String| BackupError::BadUrl { text: text.to_owned(), reason };
        let path = text.strip_prefix("file://").filter(|path| !path.is_empty());
        let path = path.ok_or_else(|| bad("write it as file:///a/path".to_owned()))?;
        let store = Arc::new(LocalStore::open(Path::new(path)).map_err(|error| bad(error.to_string()))?);
        Ok(Place { name: text.to_owned(), store: Arc::clone(&store) as Arc<dyn Store>, local: Some(store) })
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
                Place::open(env, &format!("file://{}", path.display())).await
            }
            Some(text) => Place::open(env, text).await,
        }
    }
}
