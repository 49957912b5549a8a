//! The settings of maintenance: owns its named intervals, ages and bounds, guarantees nothing but their meaning, never reads
//! a file or a variable.

use std::time::Duration;

/// When and how maintenance works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaintenanceConfig {
    /// How often all streams with limits are looked at; those that were appended to are looked at after every commit, too.
    pub retention_interval: Duration,
    /// Space of the disk that is held back from appends.
    pub min_free: MinFree,
    /// How often free space is looked at.
    pub space_interval: Duration,
    /// How often the destroy queue and the reservations are looked at.
    pub garbage_interval: Duration,
    /// How long an object stays after nothing refers to it any more (P13: comfort for readers, not correctness).
    pub destroy_grace: Duration,
    /// Age from which a reserved object id that was not committed is given up.
    pub reservation_age: Duration,
    /// Age, by the store's clock, from which an object that nothing knows is removed.
    pub orphan_age: Duration,
    /// How long after a start the first search for such objects begins.
    pub sweep_delay: Duration,
    /// Pause between two searches; there is none while no object is written.
    pub sweep_interval: Duration,
    /// How often the streams that were appended to are looked at for compaction.
    pub compact_interval: Duration,
    /// Bytes of records that one compaction holds in memory, a single block excepted.
    pub compact_memory: u64,
}

/// How much of the disk is held back: below it appends are refused, while metadata, trim and retention go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MinFree {
    /// The larger of 1 GiB and 2 % of the disk.
    Auto,
    /// So many bytes; 0 holds nothing back.
    Bytes(u64),
}

impl Default for MaintenanceConfig {
    fn default() -> MaintenanceConfig {
        MaintenanceConfig {
            retention_interval: Duration::from_secs(30),
            min_free: MinFree::Bytes(0),
            space_interval: Duration::from_secs(1),
            garbage_interval: Duration::from_secs(30),
            destroy_grace: Duration::from_secs(10 * 60),
            reservation_age: Duration::from_secs(60 * 60),
            orphan_age: Duration::from_secs(24 * 60 * 60),
            sweep_delay: Duration::from_secs(10 * 60),
            sweep_interval: Duration::from_secs(24 * 60 * 60),
            compact_interval: Duration::from_secs(30),
            compact_memory: 16 << 20,
        }
    }
}
