//! What a start takes over from the view and a stop leaves in it: owns the way of sliding deadlines across a
//! restart.
//!
//! Guarantees that a restart never shortens a deadline. After a clean stop the persisted one is exact; after any
//! other end the last uses are unknown, so the stream gets its full time again.

use std::sync::Arc;

use futures::stream::{self, StreamExt};
use kelda_engine::EndError;
use kelda_format::rows::{EntryState, Expiry, SessionState};
use kelda_format::{SessionEpoch, SessionId, StreamId, StreamName, Timestamp};
use kelda_meta::State;

use crate::service::Inner;

/// Entries looked at per step of the walk over all names.
const PAGE: usize = 1024;

/// Streams that are closed at once while deadlines are persisted: enough to fill log entries.
const AT_ONCE: usize = 128;

/// Follows the deadlines of all existing streams, and takes note of creations that did not finish.
pub(crate) fn take_up(inner: &Arc<Inner>) {
    let view = inner.meta.view();
    let exact = closed_cleanly(inner, &view);
    let mut after: Option<StreamName> = None;
    loop {
        let page = view.list("", after.as_ref().map(StreamName::as_str), PAGE);
        for entry in &page.entries {
            if entry.state == EntryState::Initialising {
                inner.leftovers.add(&entry.name, entry.stream);
            }
            inner.follow(entry.stream, entry.expiry);
            let persisted = view.stream(entry.stream).and_then(|row| row.deadline);
            if let (Expiry::Sliding { ttl_ms }, Some(persisted)) = (entry.expiry, persisted) {
                inner.recall(entry.stream, ttl_ms, persisted, exact);
            }
        }
        after = page.entries.last().map(|entry| entry.name.clone());
        if !page.more || after.is_none() {
            return;
        }
    }
}

/// Whether the session of this node before the one that runs now ended by itself with everything persisted.
fn closed_cleanly(inner: &Inner, view: &State) -> bool {
    let now = inner.engine.session();
    let Some(epoch) = now.epoch.0.checked_sub(1).filter(|epoch| *epoch > 0) else { return false };
    let before = SessionId { node: now.node, epoch: SessionEpoch(epoch) };
    view.session(before).is_some_and(|row| row.state == SessionState::Closed)
}

impl Inner {
    /// Takes up a persisted sliding deadline: as it is when it is exact, else only if it is later than a full
    /// TTL from now.
    fn recall(&self, stream: StreamId, ttl_ms: u64, persisted: Timestamp, exact: bool) {
        let left = persisted.0.saturating_sub(self.now().0);
        let kept = if exact { left } else { left.max(ttl_ms) };
        let deadline = self.monotonic_ms().saturating_add(kept);
        self.deadlines.put(stream, deadline, Some(ttl_ms));
        if kept > left {
            self.deadlines.lock().mark_moved(stream);
        }
    }

    /// Persists the sliding deadlines that moved. Only a close by the owner does (P5), so a stream that was only
    /// read is opened for it.
    pub(crate) async fn persist_deadlines(&self) {
        let moved = self.deadlines.lock().moved();
        if moved.is_empty() {
            return;
        }
        self.engine.flush().await;
        let (mono, wall) = (self.monotonic_ms(), self.now().0);
        let closes = stream::iter(moved).map(|(stream, deadline)| async move {
            let deadline = Timestamp(wall.saturating_add(deadline.saturating_sub(mono)));
            if self.open(stream, &mut self.impatience()).await.is_err_and(|fault| fault.is_none()) {
                return true;
            }
            matches!(self.engine.close_stream(stream, Some(deadline)).await, Ok(()) | Err(EndError::Gone))
        });
        let failed = closes.buffer_unordered(AT_ONCE).filter(|done| std::future::ready(!done)).count().await;
        if failed > 0 {
            tracing::warn!(failed, "sliding deadlines were not persisted");
        }
    }
}
