//! The clock guard: owns what the wall clock should read, counted on the monotonic clock from an anchor. Guarantees that a
//! wall clock which left it by more than 10 s is noticed until it is back, and that record time does not follow it further
//! ahead than that. Never corrects a clock, never waits.
//!
//! The anchor is the wall clock at the start, until the clock of the store is known; from then on it is that.

use std::sync::Arc;
use std::time::Duration;

use kelda_env::Clock;
use kelda_format::Timestamp;
use parking_lot::Mutex;

/// Milliseconds that the wall clock may be off: more than any slewing, less than any mistake that matters.
const MAX_OFF_MS: u64 = 10_000;

/// Compares the wall clock with what it should read.
pub(crate) struct ClockGuard {
    clock: Arc<dyn Clock>,
    anchor: Mutex<Anchor>,
}

#[derive(Clone, Copy, Debug)]
struct Anchor {
    wall_ms: u64,
    monotonic: Duration,
    of: Against,
}

/// What the wall clock is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Against {
    /// Itself at the start of the process, and the monotonic clock since.
    Start,
    /// The clock of the object store.
    Store,
}

/// The wall clock is not right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockFault {
    /// Milliseconds that it is ahead; negative when it is behind.
    pub ahead_ms: i64,
    /// Of what.
    pub against: Against,
}

impl std::fmt::Display for ClockFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seconds = self.ahead_ms.unsigned_abs() / 1000;
        let direction = if self.ahead_ms > 0 { "ahead of" } else { "behind" };
        let what = match self.against {
            Against::Start => "what it should be since the start (it jumped)",
            Against::Store => "the clock of the store",
        };
        write!(f, "the wall clock is {seconds} s {direction} {what}; more than 10 s is too much")
    }
}

impl ClockGuard {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> ClockGuard {
        let anchor = Anchor { wall_ms: clock.now(), monotonic: clock.monotonic_asleep(), of: Against::Start };
        ClockGuard { clock, anchor: Mutex::new(anchor) }
    }

    /// The wall clock is so many milliseconds ahead of the store's clock now.
    pub(crate) fn compare_with_store(&self, ahead_ms: i64) {
        let wall_ms = self.clock.now().saturating_add_signed(ahead_ms.saturating_neg());
        let anchor = Anchor { wall_ms, monotonic: self.clock.monotonic_asleep(), of: Against::Store };
        *self.anchor.lock() = anchor;
    }

    /// What is wrong with the wall clock now, if anything is.
    pub(crate) fn fault(&self) -> Option<ClockFault> {
        let (expected, against) = self.expected();
        let ahead = i128::from(self.clock.now()) - i128::from(expected);
        let ahead_ms = i64::try_from(ahead).unwrap_or(if ahead > 0 { i64::MAX } else { i64::MIN });
        (ahead_ms.unsigned_abs() > MAX_OFF_MS).then_some(ClockFault { ahead_ms, against })
    }

    /// The time for records and commands: the wall clock, unless that runs ahead. A record's time is a floor for those behind
    /// it (P18), so that one from a wrong future would hold its stream there after the clock was corrected.
    pub(crate) fn now(&self) -> Timestamp {
        let (expected, _) = self.expected();
        Timestamp(self.clock.now().min(expected.saturating_add(MAX_OFF_MS)))
    }

    /// What the wall clock should read.
    fn expected(&self) -> (u64, Against) {
        let anchor = *self.anchor.lock();
        let passed = self.clock.monotonic_asleep().saturating_sub(anchor.monotonic).as_millis();
        (anchor.wall_ms.saturating_add(u64::try_from(passed).unwrap_or(u64::MAX)), anchor.of)
    }
}

#[cfg(test)]
mod tests {
    use kelda_env::sim::Sim;

    use super::*;

    #[test]
    fn a_jump_is_a_fault_until_the_clock_is_back() {
        Sim::run(1, |sim| async move {
            let node = sim.node("a");
            let clock = node.env().clock;
            let guard = ClockGuard::new(Arc::clone(&clock));
            sim.sleep(Duration::from_secs(3600)).await;
            assert_eq!(guard.fault(), None);
            node.jump_clock(10_000);
            assert_eq!(guard.fault(), None, "10 s are allowed");
            assert_eq!(guard.now().0, clock.now());
            let right = clock.now() - 10_000;
            node.jump_clock(3_600_000);
            assert_eq!(guard.fault(), Some(ClockFault { ahead_ms: 3_610_000, against: Against::Start }));
            assert_eq!(guard.now().0, right + 10_000, "record time follows by 10 s and no further");
            node.jump_clock(-3_610_000 - 20_000);
            let fault = guard.fault().expect("20 s behind");
            assert_eq!(fault.ahead_ms, -20_000);
            assert!(fault.to_string().contains("20 s behind"), "{fault}");
            assert_eq!(guard.now().0, clock.now());
            node.jump_clock(20_000);
            assert_eq!(guard.fault(), None);
            node.fall_asleep(8 * 3_600_000);
            assert_eq!(guard.fault(), None, "nobody set the clock of a machine that slept");
            assert_eq!(guard.now().0, clock.now());
        });
    }

    #[test]
    fn the_clock_of_the_store_is_what_counts_once_it_is_known() {
        Sim::run(2, |sim| async move {
            let node = sim.node("a");
            let clock = node.env().clock;
            let guard = ClockGuard::new(Arc::clone(&clock));
            guard.compare_with_store(60_000);
            let fault = guard.fault().expect("a minute ahead of the store");
            assert_eq!((fault.ahead_ms, fault.against), (60_000, Against::Store));
            assert_eq!(guard.now().0, clock.now() - 50_000);
            // Corrected: against the clock at the start it jumped, and it is right all the same.
            node.jump_clock(-60_000);
            assert_eq!(guard.fault(), None);
            sim.sleep(Duration::from_secs(60)).await;
            assert_eq!(guard.now().0, clock.now());
        });
    }
}
