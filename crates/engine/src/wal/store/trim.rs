//! Deleting what is committed of a log in the store: owns the slots below the WAL start, by a worker of its own so that a
//! slow store holds up no commit. Guarantees that a slot goes only after the commit that covers it was applied (P7). Never
//! deletes a seal: those lie at or above the start of a log that ended (P6).

use std::ops::Range;
use std::sync::Arc;

use kelda_env::StoreError;
use kelda_format::SessionId;
use kelda_format::keys::wal_key;

use crate::retry::Backoff;
use crate::session::{Session, Shared};

/// Slots that one request deletes.
const DELETED_AT_ONCE: u64 = 1000;

/// Deletes slots as the WAL start moves, until the session ends.
pub(crate) async fn run(session: Arc<Session>) {
    let mut backoff = Backoff::new(&session.shared.config);
    loop {
        let Some(slots) = session.until_deletable().await else { return };
        let slots = slots.start..slots.end.min(slots.start + DELETED_AT_ONCE);
        let deleted = tokio::select! {
            biased;
            () = session.until_ended() => return,
            deleted = delete(&session.shared, session.id, slots.clone()) => deleted,
        };
        match deleted {
            Ok(()) => {
                session.set_deleted(slots.end);
                backoff = Backoff::new(&session.shared.config);
            }
            Err(error) => {
                tracing::warn!(%error, "committed slots of the write-ahead log could not be deleted");
                if !session.pause(backoff.jittered(&*session.shared.env.random)).await {
                    return;
                }
            }
        }
    }
}

/// Deletes what is left below the WAL start of a session that was closed. What fails is left to the sweep of orphans.
pub(crate) async fn finish(session: &Session) {
    let mut slots = session.deletable();
    while !slots.is_empty() {
        let some = slots.start..slots.end.min(slots.start + DELETED_AT_ONCE);
        if let Err(error) = delete(&session.shared, session.id, some.clone()).await {
            tracing::warn!(%error, "committed slots of the closed session could not be deleted");
            return;
        }
        session.set_deleted(some.end);
        slots.start = some.end;
    }
}

/// Deletes slots of the log of `session`, all of them committed.
pub(crate) async fn delete(shared: &Shared, session: SessionId, slots: Range<u64>) -> Result<(), StoreError> {
    let keys: Vec<String> = slots.map(|slot| wal_key(shared.identity.cluster, session, slot)).collect();
    shared.store.delete_many(&keys).await
}
