//! The question whether a store does what Kelda relies on: owns the probe at start-up. Guarantees that a store that passed
//! refuses a second create and gives back what it was given. Never leaves its object behind, unless the store fails midway.

use bytes::Bytes;

use crate::{Random, Store, StoreError};

/// Why a store is not used.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ProbeError {
    /// The store answers, but does not do what an object store must.
    #[error("the store cannot be used: {0}")]
    Unfit(String),
    /// The store did not answer; worth another attempt.
    #[error("the store could not be probed: {0}")]
    Failed(#[from] StoreError),
}

/// Checks with one small object below `prefix` (which ends with `/`, or is empty) that create-if-absent refuses an existing
/// key, that reads give back what was written, exactly, and that deletes delete.
///
/// # Errors
/// See [`ProbeError`].
pub async fn probe(store: &dyn Store, random: &dyn Random, prefix: &str) -> Result<(), ProbeError> {
    let nonce = u128::from_le_bytes(random.nonce());
    let key = format!("{prefix}probe-{nonce:032x}");
    let body = Bytes::from(nonce.to_le_bytes().to_vec());
    store.put_if_absent(&key, body.clone()).await?;
    let verdict = examine(store, &key, &body).await;
    store.delete(&key).await?;
    verdict?;
    match store.head(&key).await? {
        None => Ok(()),
        Some(_) => Err(ProbeError::Unfit("it acknowledges a delete and keeps the object".to_owned())),
    }
}

async fn examine(store: &dyn Store, key: &str, body: &Bytes) -> Result<(), ProbeError> {
    let unfit = |text: &str| Err(ProbeError::Unfit(text.to_owned()));
    match store.put_if_absent(key, Bytes::from_static(b"other")).await {
        Err(error) if error.is_already_exists() => {}
        Err(error) => return Err(error.into()),
        Ok(()) => return unfit("create-if-absent replaces an existing object, so it cannot fence a writer"),
    }
    if store.get(key).await? != body {
        return unfit("it gives back other bytes than it was given");
    }
    if store.get_range(key, 3..7).await? != body.slice(3..7) {
        return unfit("it answers a range with other bytes than were asked for");
    }
    if store.head(key).await?.map(|object| object.len) != Some(body.len() as u64) {
        return unfit("it reports a wrong length");
    }
    Ok(())
}
