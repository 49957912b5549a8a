//! Bytes that may be held at once.
//!
//! Owns a count of bytes that many requests share. Guarantees that the sum of what is held stays within it. Never
//! measures: whoever holds bytes says how many.

use std::sync::Arc;
use std::time::Duration;

use kelda_env::Env;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes are counted in units of this size, rounded up.
const UNIT: u64 = 1 << 10;

/// A bound on bytes.
#[derive(Clone)]
pub struct Budget {
    units: Arc<Semaphore>,
    total: u64,
}

/// Bytes that are held until this is dropped.
#[derive(Debug)]
pub struct Hold(OwnedSemaphorePermit);

impl Hold {
    /// Holds what another one holds as well.
    pub fn join(&mut self, other: Hold) {
        self.0.merge(other.0);
    }
}

impl Budget {
    /// A budget of so many bytes.
    #[must_use]
    pub fn new(bytes: u64) -> Budget {
        let units = usize::try_from(bytes / UNIT).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
        Budget { units: Arc::new(Semaphore::new(units)), total: bytes }
    }

    /// The whole of it.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Holds bytes, if they are free.
    #[must_use]
    pub fn try_hold(&self, bytes: u64) -> Option<Hold> {
        Arc::clone(&self.units).try_acquire_many_owned(units(bytes)).ok().map(Hold)
    }

    /// Holds bytes as soon as they are free; gives up after `limit`.
    pub async fn hold(&self, env: &Env, bytes: u64, limit: Duration) -> Option<Hold> {
        if let Some(hold) = self.try_hold(bytes) {
            return Some(hold);
        }
        let wait = Arc::clone(&self.units).acquire_many_owned(units(bytes));
        env.timeout(limit, wait).await.ok()?.ok().map(Hold)
    }
}

fn units(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn what_is_held_is_not_free() {
        let budget = Budget::new(10 * UNIT);
        let mut first = budget.try_hold(5 * UNIT - 1).unwrap();
        assert!(budget.try_hold(5 * UNIT + 1).is_none());
        first.join(budget.try_hold(5 * UNIT).unwrap());
        assert!(budget.try_hold(1).is_none());
        drop(first);
        assert!(budget.try_hold(10 * UNIT).is_some());
    }
}
