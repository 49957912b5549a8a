//! The settings of the write-ahead log as the engine takes them.
//!
//! Owns what `auto` stands for. Guarantees that a log on the disk waits for nobody and one in the store for little, unless
//! told otherwise. Never opens anything.

use std::time::Duration;

use kelda_engine::{EngineConfig, WalKind};

use crate::config::{Linger, NodeSettings};

/// How long a log in the store waits for company: short beside a request, and far fewer of them.
const STORE_LINGER: Duration = Duration::from_millis(20);

/// The engine's settings with those of the log.
pub(super) fn config(settings: &NodeSettings) -> EngineConfig {
    let in_store = settings.wal_in_store();
    EngineConfig {
        wal: if in_store { WalKind::Object } else { WalKind::Local },
        wal_linger: match settings.wal_linger {
            Linger::Auto if in_store => STORE_LINGER,
            Linger::Auto => Duration::ZERO,
            Linger::For(linger) => linger,
        },
        group_bytes: settings.wal_group_bytes.0,
        wal_uploads: settings.wal_uploads,
        upload_interval: settings.upload_interval,
        ..EngineConfig::default()
    }
}
