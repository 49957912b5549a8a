//! Log entries: owns the table of flushes. Guarantees that a flush which is in the log twice is applied once,
//! and that the second one is answered as the first (P21).

use std::sync::Arc;

use kelda_format::rows::{CommandResult, FlushRow, SessionRow};
use kelda_format::{ClusterId, LogEntry, SessionId};

use crate::{Rejection, State};

/// Why a log entry cannot be applied to a state at all. The node's metadata has to stop: going on would fork.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// The entry was written for another cluster.
    #[error("the log entry is of cluster {found}, this is cluster {expected}")]
    OtherCluster {
        /// This cluster.
        expected: ClusterId,
        /// The cluster of the entry.
        found: ClusterId,
    },
    /// The entry is not the one that comes next.
    #[error("log entry {found} came where {expected} comes next")]
    NotNext {
        /// The index that comes next.
        expected: u64,
        /// The index that came.
        found: u64,
    },
}

impl State {
    /// Applies the log entry at `index`: the next one, of this cluster. Returns one result per command.
    ///
    /// # Errors
    /// When the entry is not the next one or of another cluster; the state is then as it was.
    pub fn apply_entry(&mut self, index: u64, entry: &LogEntry) -> Result<Vec<CommandResult>, ApplyError> {
        if entry.cluster != self.cluster {
            return Err(ApplyError::OtherCluster { expected: self.cluster, found: entry.cluster });
        }
        let expected = self.applied + 1;
        if index != expected {
            return Err(ApplyError::NotNext { expected, found: index });
        }
        self.applied = index;
        if let Some(results) = self.flush_results(entry) {
            return Ok(results);
        }
        let results: Vec<CommandResult> = entry.commands.iter().map(|command| self.apply(command)).collect();
        if let Some(session) = entry.session {
            self.remember_flush(session, entry, &results);
        }
        Ok(results)
    }

    /// What is known of the outcome of a session's flush: present when it was applied and is the last one.
    /// `None` after a flush with a greater number was applied means that it never will be.
    #[must_use]
    pub fn flush_outcome(&self, session: SessionId, flush: u64) -> Option<&[CommandResult]> {
        let last = self.session(session)?.last_flush.as_ref()?;
        (last.flush == flush).then_some(&*last.results)
    }

    /// The results of an entry that must not be applied because its flush, or a later one, already was.
    fn flush_results(&self, entry: &LogEntry) -> Option<Vec<CommandResult>> {
        let last = self.session(entry.session?)?.last_flush.as_ref()?;
        if entry.flush > last.flush {
            return None;
        }
        if entry.flush == last.flush && entry.nonce == last.nonce {
            return Some(last.results.to_vec());
        }
        let rejection = Rejection::FlushSuperseded { flush: entry.flush, last: last.flush };
        Some(vec![Err(rejection); entry.commands.len()])
    }

    fn remember_flush(&mut self, session: SessionId, entry: &LogEntry, results: &[CommandResult]) {
        let Some(row) = self.sessions.get(&session) else { return };
        let mut row = SessionRow::clone(row);
        row.last_flush =
            Some(FlushRow { flush: entry.flush, nonce: entry.nonce, results: Arc::from(results) });
        self.put_session(row);
    }
}
