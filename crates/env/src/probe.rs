//! The question whether a store does what Kelda relies on: owns the probe at start-up. Guarantees that a store that passed
//! refuses a second create and a swap of another version, and gives back what it was given. Never leaves its object behind,
//! unless the store fails midway.

use bytes::Bytes;

use crate::{Clock, Random, Store, StoreError, Tag};

/// A store whose requests fail is asked this often before it is given up.
const ATTEMPTS: u32 = 3;
/// Stores tell times in whole seconds, in milliseconds.
const STORE_TICK_MS: u64 = 1000;

/// What a store that passed is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probed {
    /// Whether it can compare and swap.
    pub swaps: bool,
    /// By how much its clock is ahead of the node's at least, in milliseconds; negative when it is behind. Zero when the
    /// difference is within what a request takes and a store tells.
    pub clock_ahead_ms: i64,
}

/// Why a store is not used.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ProbeError {
    /// The store answers, but does not do what an object store must.
    #[error("asked to {asked}, it {answered}; {needed}")]
    Unfit {
        /// What it was asked to do.
        asked: &'static str,
        /// What it did.
        answered: String,
        /// What it would have to do, and why.
        needed: &'static str,
    },
    /// The store did not answer; worth another attempt.
    #[error("it could not be asked: {0}")]
    Failed(#[from] StoreError),
}

fn unfit<T>(asked: &'static str, answered: &str, needed: &'static str) -> Result<T, ProbeError> {
    Err(ProbeError::Unfit { asked, answered: answered.to_owned(), needed })
}

/// Checks with one small object below `prefix` (which ends with `/`, or is empty) that create-if-absent refuses an existing
/// key, that a swap refuses another version than the one that is there, that reads give back what was written, exactly, and
/// that deletes delete; and measures the clock of the store.
///
/// # Errors
/// See [`ProbeError`].
pub async fn probe(
    store: &dyn Store,
    clock: &dyn Clock,
    random: &dyn Random,
    prefix: &str,
) -> Result<Probed, ProbeError> {
    let mut attempt = 1;
    loop {
        match attempt_probe(store, clock, random, prefix).await {
            Err(ProbeError::Failed(error)) if error.is_retryable() && attempt < ATTEMPTS => {
                tracing::warn!(%error, "the store could not be probed, trying again");
                attempt += 1;
            }
            answer => return answer,
        }
    }
}

/// Every attempt has a key of its own, so that what became of an earlier one does not matter.
async fn attempt_probe(
    store: &dyn Store,
    clock: &dyn Clock,
    random: &dyn Random,
    prefix: &str,
) -> Result<Probed, ProbeError> {
    let nonce = u128::from_le_bytes(random.nonce());
    let key = format!("{prefix}probe/{nonce:032x}");
    let body = Bytes::from(nonce.to_le_bytes().to_vec());
    let before = clock.now();
    store.put_if_absent(&key, body.clone()).await?;
    let after = clock.now();
    let verdict = examine(store, &key, &body, before..=after).await;
    store.delete(&key).await?;
    let probed = verdict?;
    match store.head(&key).await? {
        None => Ok(probed),
        Some(_) => unfit(
            "delete an object",
            "acknowledged that and kept it",
            "deleted objects have to be gone, or space and cost grow for ever",
        ),
    }
}

async fn examine(
    store: &dyn Store,
    key: &str,
    body: &Bytes,
    written: std::ops::RangeInclusive<u64>,
) -> Result<Probed, ProbeError> {
    const CREATE: &str = "create an object only if its key is free, where the key was taken";
    match store.put_if_absent(key, Bytes::from_static(b"other")).await {
        Err(error) if error.is_already_exists() => {}
        Err(StoreError::Unsupported { .. }) => {
            return unfit(
                CREATE,
                "said that it cannot",
                "it has to, since that is how a dead writer is fenced",
            );
        }
        Err(error) => return Err(error.into()),
        Ok(()) => {
            return unfit(
                CREATE,
                "replaced it",
                "it has to refuse, since that is how a dead writer is fenced",
            );
        }
    }
    if store.get(key).await? != body {
        return unfit("read an object", "gave other bytes than it was given", "they have to be the same");
    }
    if store.get_range(key, 3..7).await? != body.slice(3..7) {
        return unfit("read bytes 3 to 7 of an object", "gave others", "reads of ranges have to be exact");
    }
    let Some(found) = store.head(key).await? else {
        return unfit(
            "tell of an object that was just written",
            "said that there is none",
            "what was acknowledged has to be seen at once",
        );
    };
    if found.len != body.len() as u64 {
        return unfit("tell the length of an object", "gave a wrong one", "lengths have to be right");
    }
    let swaps = match found.tag {
        None => false,
        Some(tag) => swap(store, key, body, &tag).await?,
    };
    Ok(Probed { swaps, clock_ahead_ms: ahead(found.modified, *written.start(), *written.end()) })
}

/// Whether the store can compare and swap, and does not swap when the comparison fails.
async fn swap(store: &dyn Store, key: &str, body: &Bytes, tag: &Tag) -> Result<bool, ProbeError> {
    const SWAP: &str = "replace an object only if it is still a version that it is no more";
    // The bytes differ, since some stores tell versions by them.
    let other = Bytes::from([body, &b"+"[..]].concat());
    match store.swap(key, other, tag).await {
        Ok(_) => {}
        Err(StoreError::Unsupported { .. }) => return Ok(false),
        Err(error) if error.is_stale() => {
            return unfit(
                "replace an object only if it is still the version that it is",
                "refused",
                "it has to replace it, since that is how the newest snapshot is found",
            );
        }
        Err(error) => return Err(error.into()),
    }
    match store.swap(key, body.clone(), tag).await {
        Err(error) if error.is_stale() => Ok(true),
        Err(error) => Err(error.into()),
        Ok(_) => unfit(SWAP, "replaced it", "it has to refuse, or two writers undo each other's work"),
    }
}

/// By how much the time `modified` of a clock that tells whole seconds lies outside of when it was told.
fn ahead(modified: u64, before: u64, after: u64) -> i64 {
    let signed = |ms: u64| i64::try_from(ms).unwrap_or(i64::MAX);
    if modified > after {
        signed(modified - after)
    } else {
        -signed(before.saturating_sub(modified.saturating_add(STORE_TICK_MS)))
    }
}
