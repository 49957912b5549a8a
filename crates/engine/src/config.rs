//! The settings of the engine and who it is: owns the named bounds of every queue, cache and wait in this
//! crate, guarantees that the ones which depend on each other fit, never reads a file or a variable.

use std::time::Duration;

use kelda_format::rows::WalKind;
use kelda_format::{ClusterId, NodeId};

pub use crate::maintenance::config::{MaintenanceConfig, MinFree};

/// Room for the largest batch with its section headers, over the 128 MiB a batch may have.
const LARGEST_ENTRY_BYTES: u64 = 129 << 20;

/// Settings of one node's engine; sizes are bytes.
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// Where the write-ahead log lies.
    pub wal: WalKind,
    /// Size to which a WAL segment file is preallocated, and so the usual size of an object.
    pub segment_bytes: u64,
    /// Bytes that may wait for the WAL writer; appends beyond it wait.
    pub wal_queue_bytes: u64,
    /// Bytes that may be in the WAL and not yet committed to objects; appends beyond it wait.
    pub uncommitted_bytes: u64,
    /// Bytes of one stream that may wait for durability; appends beyond it wait.
    pub stream_inflight_bytes: u64,
    /// Committed bytes that stay in the log cache, so that readers near the tail touch no storage.
    pub cache_tail_bytes: u64,
    /// How long the WAL writer waits for company before it writes a group; zero writes at once.
    pub wal_linger: Duration,
    /// Groups of a WAL in the object store that may be on their way at once; at least 1. Their bytes are bounded by as many
    /// times `group_bytes`.
    pub wal_uploads: u64,
    /// How old data may become before it is uploaded and committed though no segment or range is full.
    pub upload_interval: Duration,
    /// How long the WAL must be idle before the synced mark is written by itself (P11).
    pub idle_mark: Duration,
    /// Bytes of one WAL group, past which the next entry starts a new one; a larger entry is a group by itself.
    pub group_bytes: u64,
    /// How long an append waits for space in the WAL before it is answered `Overloaded`.
    pub space_wait: Duration,
    /// How long a shutdown tries to commit and close everything, before it leaves the rest to the next start.
    pub close_wait: Duration,
    /// First pause before a failed upload, commit or preallocation is tried again; doubles up to `retry_max`.
    pub retry_min: Duration,
    /// Longest pause between two tries.
    pub retry_max: Duration,
    /// Share of this node in placements relative to other nodes; at least 1.
    pub slots: u32,
    /// Bytes of object indexes and pages that the object reader keeps, and of what it has on its way from the store.
    pub object_cache_bytes: u64,
    /// When and how maintenance works.
    pub maintenance: MaintenanceConfig,
    /// Milliseconds that the wall clock is ahead of the store's clock, when a start-up probe measured it.
    pub ahead_of_store_ms: Option<i64>,
}

impl Default for EngineConfig {
    fn default() -> EngineConfig {
        EngineConfig {
            wal: WalKind::Local,
            segment_bytes: 64 << 20,
            wal_queue_bytes: 64 << 20,
            uncommitted_bytes: 256 << 20,
            stream_inflight_bytes: 32 << 20,
            cache_tail_bytes: 64 << 20,
            wal_linger: Duration::ZERO,
            wal_uploads: 8,
            upload_interval: Duration::from_secs(600),
            idle_mark: Duration::from_millis(100),
            group_bytes: 8 << 20,
            space_wait: Duration::from_secs(5),
            close_wait: Duration::from_secs(8),
            retry_min: Duration::from_millis(50),
            retry_max: Duration::from_secs(5),
            slots: 1,
            object_cache_bytes: 256 << 20,
            maintenance: MaintenanceConfig::default(),
            ahead_of_store_ms: None,
        }
    }
}

impl EngineConfig {
    /// Smallest segment that holds its header, a few entries and the index behind them.
    pub const MIN_SEGMENT_BYTES: u64 = 64 << 10;

    /// The same settings with those raised that would otherwise contradict each other: the bytes that may wait
    /// for a commit must exceed what one unsealed segment holds, or appends would wait for a segment that
    /// nothing fills.
    #[must_use]
    pub fn consistent(mut self) -> EngineConfig {
        self.segment_bytes = self.segment_bytes.max(Self::MIN_SEGMENT_BYTES);
        self.wal_queue_bytes = self.wal_queue_bytes.max(Self::MIN_SEGMENT_BYTES);
        self.stream_inflight_bytes = self.stream_inflight_bytes.max(Self::MIN_SEGMENT_BYTES);
        self.uncommitted_bytes = self
            .uncommitted_bytes
            .max(2 * self.segment_bytes)
            .max(self.segment_bytes + LARGEST_ENTRY_BYTES.min(self.wal_queue_bytes));
        self.wal_uploads = self.wal_uploads.max(1);
        self.retry_min = self.retry_min.max(Duration::from_millis(1));
        self.retry_max = self.retry_max.max(self.retry_min);
        self
    }
}

/// Who the engine is in the cluster.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The node, chosen by the operator.
    pub node: NodeId,
    /// Where other nodes and clients reach it.
    pub address: String,
    /// The cluster whose data it may touch.
    pub cluster: ClusterId,
}
