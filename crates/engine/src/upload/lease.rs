//! Object ids reserved ahead: owns the ids of a lease that are not used yet. Guarantees that an id is given out once, and
//! none that was reserved so long ago that its reservation may have expired (P13 would reject the commit). Never proposes.

use std::collections::VecDeque;
use std::time::Duration;

use kelda_format::ObjectId;

/// Ids of one lease at most.
const LEASE_IDS: u32 = 64;

/// How long the ids of a lease are used: half of the time after which reservations expire.
const LEASE_LIFE: Duration = Duration::from_secs(30 * 60);

/// A lease that was used up within this time is followed by one twice as large.
const SOON: Duration = Duration::from_secs(60);

/// The ids at hand. Idle sessions hold few, busy ones propose rarely.
#[derive(Debug, Default)]
pub(crate) struct Lease {
    ids: VecDeque<ObjectId>,
    /// When they were reserved, by the monotonic clock.
    since: Duration,
    /// How many the last lease had.
    last: u32,
}

impl Lease {
    /// Takes `count` ids; or says how many to reserve, and changes nothing.
    pub(crate) fn take(&mut self, count: usize, now: Duration) -> Result<Vec<ObjectId>, u32> {
        if now.saturating_sub(self.since) >= LEASE_LIFE {
            self.ids.clear();
        }
        if self.ids.len() >= count {
            return Ok(self.ids.drain(..count).collect());
        }
        let needed = u32::try_from(count - self.ids.len()).unwrap_or(u32::MAX);
        let grown = if now.saturating_sub(self.since) < SOON { self.last * 2 } else { 0 };
        Err(needed.max(grown.min(LEASE_IDS)))
    }

    /// Adds `count` ids from `first` on, reserved at `now`.
    pub(crate) fn add(&mut self, first: ObjectId, count: u32, now: Duration) {
        self.ids.extend((0..u64::from(count)).map(|at| ObjectId(first.0 + at)));
        self.since = now;
        self.last = count;
    }

    /// Gives up what is left: a reservation of it is gone.
    pub(crate) fn clear(&mut self) {
        self.ids.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn leases_grow_with_use_and_grow_old() {
        let mut lease = Lease::default();
        assert_eq!(lease.take(1, seconds(100)), Err(1));
        lease.add(ObjectId(5), 1, seconds(100));
        assert_eq!(lease.take(1, seconds(100)), Ok(vec![ObjectId(5)]));
        assert_eq!(lease.take(1, seconds(101)), Err(2), "it was soon used up");
        lease.add(ObjectId(9), 64, seconds(101));
        assert_eq!(lease.take(3, seconds(102)), Ok(vec![ObjectId(9), ObjectId(10), ObjectId(11)]));
        assert_eq!(lease.take(62, seconds(103)), Err(64), "and never more than 64");
        assert_eq!(lease.take(1, seconds(101 + 1800)), Err(1), "what is left is too old");
    }
}
