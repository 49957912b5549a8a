//! What is left of a log that was recovered: owns the deletion of its slots. Guarantees that seals stay (P6), and that a slot
//! goes only when the recovery is complete. What fails here is left to the sweep of orphans.

use kelda_env::StoreError;
use kelda_format::SessionId;
use kelda_format::keys::{wal_key, wal_prefix};
use kelda_format::wal::SEAL_BYTES;

use crate::retry::Backoff;
use crate::session::Shared;

/// Slots that are listed and deleted at once.
const AT_ONCE: usize = 1000;

/// How often the deletion is tried.
const TRIES: u32 = 5;

/// The slots of the log of a session as a listing has them, from `start` on: how many and their bytes. A hint, since
/// listings may be late.
pub(super) async fn size(shared: &Shared, session: SessionId, start: u64) -> (u64, u64) {
    let cluster = shared.identity.cluster;
    match shared.store.list(&wal_prefix(cluster, session)).await {
        Ok(objects) => {
            let first = wal_key(cluster, session, start);
            let slots = objects.iter().filter(|object| object.key >= first);
            slots.fold((0, 0), |(slots, bytes), object| (slots + 1, bytes + object.len))
        }
        Err(error) => {
            tracing::warn!(%error, "how much there is to recover is not known");
            (0, 0)
        }
    }
}

/// Deletes all slots of the log of a recovered session, those behind the seal too, but no seal.
pub(super) async fn clean(shared: &Shared, session: SessionId) {
    let mut backoff = Backoff::new(&shared.config);
    for _ in 0..TRIES {
        match try_clean(shared, session).await {
            Ok(()) => return,
            Err(error) => {
                tracing::warn!(%session, %error, "slots of a recovered session could not be deleted");
            }
        }
        shared.env.clock.sleep(backoff.jittered(&*shared.env.random)).await;
    }
}

async fn try_clean(shared: &Shared, session: SessionId) -> Result<(), StoreError> {
    let prefix = wal_prefix(shared.identity.cluster, session);
    let mut after: Option<String> = None;
    loop {
        let page = shared.store.list_page(&prefix, after.as_deref(), AT_ONCE).await?;
        let full = page.len() == AT_ONCE;
        after = page.last().map(|object| object.key.clone());
        // P6: a slot is longer than any seal. Recoverers that ran at once may have made more than one.
        let slots = page.into_iter().filter(|object| object.len != SEAL_BYTES as u64);
        let slots: Vec<String> = slots.map(|object| object.key).collect();
        if !slots.is_empty() {
            shared.store.delete_many(&slots).await?;
        }
        if !full {
            return Ok(());
        }
    }
}
