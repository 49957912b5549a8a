//! What a metadata log is opened with: owns settings and bounds, guarantees that each has a reason, never reads
//! anything.

use std::time::Duration;

use kelda_format::ClusterId;
use kelda_format::limits::MAX_COMMANDS_PER_ENTRY;

/// Proposals packed into one entry. More would make one slow entry of a burst; fewer would sync more often.
pub const MAX_BATCH: usize = MAX_COMMANDS_PER_ENTRY;

/// Proposals that wait for the flusher; further ones wait for room, within their own time limit.
pub(crate) const MAX_QUEUED: usize = 4096;

/// Entries read at once when catching up.
pub(crate) const READ_BATCH: usize = 256;

/// A snapshot is not due before this many entries, however small the last one was.
pub const SNAPSHOT_MIN_ENTRIES: u64 = 1024;

/// How long after a failed snapshot the next is tried.
pub(crate) const SNAPSHOT_RETRY: Duration = Duration::from_secs(30);

/// The pause before the first repetition of a call to the log; it doubles up to [`RETRY_MAX`]. Repetitions have
/// no limit in number: an index whose outcome is unknown may not be given up (P8), and its callers have a time
/// limit of their own.
pub(crate) const RETRY_FIRST: Duration = Duration::from_millis(20);

/// The longest pause between two repetitions.
pub(crate) const RETRY_MAX: Duration = Duration::from_secs(1);

/// How often a snapshot is looked for that a truncated log promises.
pub(crate) const MAX_REINSTALLS: usize = 8;

/// Settings of one [`crate::MetaLog`].
#[derive(Clone, Debug)]
pub struct MetaLogConfig {
    /// The cluster that the log must belong to; `None` takes whatever is there. An empty log gets this id, or a
    /// random one.
    pub cluster: Option<ClusterId>,
    /// How long a proposal waits for its outcome.
    pub propose_timeout: Duration,
    /// Entries since the last snapshot before the next is due; [`SNAPSHOT_MIN_ENTRIES`] but for tests.
    pub snapshot_min_entries: u64,
}

impl Default for MetaLogConfig {
    fn default() -> Self {
        Self {
            cluster: None,
            propose_timeout: Duration::from_secs(10),
            snapshot_min_entries: SNAPSHOT_MIN_ENTRIES,
        }
    }
}
