//! Orphans: owns the search for objects that nothing knows, such as an upload that arrived after its id was given up. Guarantees
//! that it lists at most once per start and interval and only while objects are written, that what it deletes is old by
//! the store's clock and unknown in a view taken after the listing, and that no seal goes (P6). Never deletes an object of the
//! future, which a log that lags behind may know.

use std::time::Duration;

use kelda_env::ObjectInfo;
use kelda_format::keys::{data_prefix, wal_root};
use kelda_format::wal::Seal;
use kelda_format::{SessionId, Timestamp};
use kelda_meta::rows::SessionState;
use kelda_meta::{SessionStatus, State};

use super::plan;
use crate::engine::Inner;

/// Objects of one page of a listing.
const PAGE: usize = 1000;

/// Bytes that tell a seal from a slot.
const SEAL_LOOK: u64 = 8;

impl Inner {
    /// Searches when it is time and objects are being written, or because somebody asks for it.
    pub(super) async fn sweep_if_due(&self, asked: bool) {
        let shared = &self.shared;
        let now = shared.env.clock.monotonic();
        let (cluster, next_object) = {
            let view = shared.meta.view();
            (view.cluster(), view.numbers().next_object)
        };
        if !self.is_sweep_due(now, next_object) && !asked {
            return;
        }
        // One that a failing store cut short is not repeated at once either.
        shared.upkeep.garbage.sweeps.lock().last = Some(now);
        let ended = self.sweep(&data_prefix(cluster)).await && self.sweep(&wal_root(cluster)).await;
        tracing::debug!(ended, "searched the store for objects that nothing knows");
    }

    fn is_sweep_due(&self, now: Duration, next_object: u64) -> bool {
        let shared = &self.shared;
        let config = &shared.config.maintenance;
        let mut sweeps = shared.upkeep.garbage.sweeps.lock();
        // On a node that rests nothing new is to be found, and it asks the store for nothing.
        let written = sweeps.next_object.replace(next_object).is_some_and(|before| before != next_object);
        let due_at = match sweeps.last {
            None => shared.upkeep.started + config.sweep_delay,
            Some(last) => last + config.sweep_interval,
        };
        written && now >= due_at
    }

    /// Walks the keys below `prefix`; whether the store answered to the end.
    async fn sweep(&self, prefix: &str) -> bool {
        let store = &self.shared.store;
        let mut after: Option<String> = None;
        loop {
            let page = match store.list_page(prefix, after.as_deref(), PAGE).await {
                Ok(page) => page,
                Err(error) => {
                    tracing::debug!(%error, "the search for unknown objects ended early");
                    return false;
                }
            };
            let whole = page.len() >= PAGE;
            after = page.last().map(|info| info.key.clone());
            let keys = self.orphans(page).await;
            if !keys.is_empty() && self.shared.holds.is_held() {
                return false;
            }
            if !keys.is_empty() {
                tracing::info!(objects = keys.len(), first = keys[0], "deleting objects that nothing knows");
                if let Err(error) = store.delete_many(&keys).await {
                    tracing::warn!(%error, "the store did not delete what nothing knows");
                    return false;
                }
            }
            if !whole {
                return true;
            }
        }
    }

    /// The keys of a page that may go.
    async fn orphans(&self, page: Vec<ObjectInfo>) -> Vec<String> {
        let shared = &self.shared;
        let before = plan::before(shared.now(), shared.config.maintenance.orphan_age);
        // Taken after the listing: what was reserved or committed meanwhile is in it.
        let view = shared.meta.view();
        let mut keys = Vec::new();
        for info in page {
            if plan::is_orphan(&view, &info.key, info.modified, before)
                || self.is_old_slot(&view, &info, before).await
            {
                keys.push(info.key);
            }
        }
        keys
    }

    /// Whether this is a slot of the log of a session that is over with everything committed, and no seal.
    async fn is_old_slot(&self, view: &State, info: &ObjectInfo, before: Timestamp) -> bool {
        let Some((session, slot)) = kelda_format::keys::parse_wal_key(view.cluster(), &info.key) else {
            return false;
        };
        if info.modified >= before.0 || !is_over(view, session) {
            return false;
        }
        if view.session(session).is_some_and(|row| slot < row.wal_start) {
            // The seal is at the first empty slot, which no commit has passed.
            return true;
        }
        let head = self.shared.store.get_range(&info.key, 0..SEAL_LOOK.min(info.len)).await;
        head.is_ok_and(|bytes| !Seal::is_one(&bytes))
    }
}

/// Whether a session is over with everything committed.
fn is_over(view: &State, session: SessionId) -> bool {
    match view.session_status(session) {
        SessionStatus::Known(state) => matches!(state, SessionState::Closed | SessionState::Recovered),
        SessionStatus::Forgotten => true,
        SessionStatus::Unknown => false,
    }
}
