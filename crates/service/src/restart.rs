//! What a start takes over from the view and a stop leaves in it: owns the way of sliding deadlines across a
//! restart.
//!
//! Guarantees that a restart never shortens a deadline. After a clean stop the persisted one is exact; after any
//! other end the last uses are unknown, so the stream gets its full time again.

use std::sync::Arc;

use futures::stream::{self, StreamExt};
use kelda_format::command::PutEntry;
use kelda_format::rows::{EntryState, Expiry, SessionState};
use kelda_format::{SessionEpoch, SessionId, StreamId, StreamName, Timestamp};
use kelda_meta::State;

use crate::service::Inner;

/// Entries looked at per step of the walk over all names.
const PAGE: usize = 1024;

/// Proposals in flight while deadlines are persisted: what one log entry takes.
const PERSIST_AT_ONCE: usize = 256;

/// Follows the deadlines of all existing streams; returns the creations that did not finish.
pub(crate) fn take_up(inner: &Arc<Inner>) -> Vec<(StreamName, StreamId)> {
    let view = inner.meta.view();
    let exact = closed_cleanly(inner, &view);
    let mut unfinished = Vec::new();
    let mut after: Option<StreamName> = None;
    loop {
        let page = view.list("", after.as_ref().map(StreamName::as_str), PAGE);
        for entry in &page.entries {
            if entry.state == EntryState::Initialising {
                unfinished.push((entry.name.clone(), entry.stream));
            }
            inner.follow(entry.stream, entry.expiry);
            let persisted = view.stream(entry.stream).and_then(|row| row.deadline);
            if let (Expiry::Sliding { ttl_ms }, Some(persisted)) = (entry.expiry, persisted) {
                inner.recall(entry.stream, ttl_ms, persisted, exact);
            }
        }
        after = page.entries.last().map(|entry| entry.name.clone());
        if !page.more || after.is_none() {
            return unfinished;
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
        let left = persisted.0.saturating_sub(self.env.clock.now());
        let kept = if exact { left } else { left.max(ttl_ms) };
        let deadline = self.monotonic_ms().saturating_add(kept);
        self.deadlines.put(stream, deadline, Some(ttl_ms));
        if kept > left {
            self.deadlines.lock().mark_moved(stream);
        }
    }

    /// Persists the sliding deadlines that moved (P5), a full log entry at a time.
    pub(crate) async fn persist_deadlines(&self) {
        let moved = self.deadlines.lock().moved();
        let (mono, wall) = (self.monotonic_ms(), self.env.clock.now());
        let commands: Vec<PutEntry> = {
            let view = self.meta.view();
            let command = |(stream, deadline): (StreamId, u64)| {
                let entry = view.entry_of(stream).filter(|entry| entry.stream == stream)?;
                let Expiry::Sliding { ttl_ms } = entry.expiry else { return None };
                // The deadline is counted from the time of the command.
                let used = wall.saturating_add(deadline.saturating_sub(mono)).saturating_sub(ttl_ms);
                Some(PutEntry {
                    name: entry.name.clone(),
                    stream,
                    expected_version: entry.version,
                    state: None,
                    expiry: Some(entry.expiry),
                    retention: None,
                    arguments: None,
                    at: Timestamp(used),
                })
            };
            moved.into_iter().filter_map(command).collect()
        };
        let proposals = stream::iter(commands).map(|command| self.meta.propose(command.into()));
        let failed = proposals
            .buffer_unordered(PERSIST_AT_ONCE)
            .filter(|r| std::future::ready(r.is_err()))
            .count()
            .await;
        if failed > 0 {
            tracing::warn!(failed, "sliding deadlines were not persisted");
        }
    }
}
