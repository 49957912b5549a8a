//! What commands do: owns the way from a command to the file of its noun, the feature level and the table of
//! flushes. Guarantees that a rejected command changes nothing and that no flush is applied twice (P21).
//! Never asks a clock, never rolls a die.

use kelda_format::rows::CommandResult;
use kelda_format::{ClusterId, LogEntry};

use crate::{Command, Outcome, Rejection, State};

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
    /// Applies one command. A rejection leaves the state as it was.
    ///
    /// # Errors
    /// The [`Rejection`], which is the same on every replica.
    pub fn apply(&mut self, command: &Command) -> Result<Outcome, Rejection> {
        let _ = command;
        Err(Rejection::NoPlacement)
    }

    /// Applies the log entry at `index`: the next one, of this cluster. Returns one result per command.
    ///
    /// # Errors
    /// When the entry is not the next one or of another cluster; the state is then as it was.
    pub fn apply_entry(&mut self, index: u64, entry: &LogEntry) -> Result<Vec<CommandResult>, ApplyError> {
        if entry.cluster != self.cluster {
            return Err(ApplyError::OtherCluster { expected: self.cluster, found: entry.cluster });
        }
        if index != self.applied + 1 {
            return Err(ApplyError::NotNext { expected: self.applied + 1, found: index });
        }
        let results = entry.commands.iter().map(|command| self.apply(command)).collect();
        self.applied = index;
        Ok(results)
    }
}
