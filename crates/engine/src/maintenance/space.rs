//! The space that is held back: owns the flag that refuses appends while the disk has less. Guarantees that appends come back
//! by themselves when there is enough again. Never removes anything itself.

use std::sync::atomic::{AtomicBool, Ordering};

use kelda_env::Space;

use super::config::MinFree;
use crate::engine::Inner;

/// What [`MinFree::Auto`] holds back at least, in bytes, and the share of the disk, in percent.
const AUTO_BYTES: u64 = 1 << 30;
const AUTO_PERCENT: u64 = 2;

impl MinFree {
    /// Bytes that are held back of a disk of `total` bytes.
    fn bytes(self, total: u64) -> u64 {
        match self {
            MinFree::Auto => AUTO_BYTES.max(total / 100 * AUTO_PERCENT),
            MinFree::Bytes(bytes) => bytes,
        }
    }
}

/// Whether the disk has less free than is held back.
#[derive(Debug, Default)]
pub(crate) struct SpaceGuard(AtomicBool);

impl SpaceGuard {
    pub(crate) fn is_low(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Takes in a look at the disk; the state before it.
    fn saw(&self, space: Space, min_free: MinFree) -> bool {
        self.0.swap(space.free < min_free.bytes(space.total), Ordering::Relaxed)
    }
}

impl Inner {
    /// Looks at the disk once. What cannot be known changes nothing.
    pub(crate) async fn look_at_space(&self) {
        let shared = &self.shared;
        let min_free = shared.config.maintenance.min_free;
        let space = match shared.env.disk.space().await {
            Ok(space) => space,
            Err(error) => {
                tracing::debug!(%error, "the free space of the disk is not known");
                return;
            }
        };
        let before = shared.upkeep.space.saw(space, min_free);
        let now = shared.upkeep.space.is_low();
        shared.health.set_low_space(now);
        if now != before {
            let (free, held_back) = (space.free, min_free.bytes(space.total));
            if now {
                tracing::warn!(
                    free,
                    held_back,
                    "little space is left: appends are refused until there is more"
                );
            } else {
                tracing::info!(free, held_back, "there is space again: appends are taken");
            }
        }
    }

    /// Looks at the disk again and again.
    pub(crate) async fn watch_space(&self) {
        let config = &self.shared.config.maintenance;
        if config.min_free == MinFree::Bytes(0) {
            return std::future::pending().await;
        }
        loop {
            self.look_at_space().await;
            self.shared.env.clock.sleep(config.space_interval).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_is_the_larger_of_a_gibibyte_and_two_percent() {
        assert_eq!(MinFree::Auto.bytes(10 << 30), 1 << 30);
        assert_eq!(MinFree::Auto.bytes(1000 << 30), (1000 << 30) / 100 * 2);
        assert_eq!(MinFree::Bytes(7).bytes(1 << 40), 7);
    }

    #[test]
    fn less_than_is_held_back_is_low() {
        let guard = SpaceGuard::default();
        assert!(!guard.saw(Space { free: 9, total: 100 }, MinFree::Bytes(10)));
        assert!(guard.is_low());
        assert!(guard.saw(Space { free: 10, total: 100 }, MinFree::Bytes(10)));
        assert!(!guard.is_low());
    }
}
