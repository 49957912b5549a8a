//! What all parts of one simulated world share: seed, fault decisions, trace, virtual time.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::faults::FaultPlan;
use super::random::SimRandom;
use super::trace::Trace;
use crate::Random;

/// Virtual time begins at this wall clock time: 2026-01-01T00:00:00Z in milliseconds since the Unix epoch.
pub(super) const FIRST_MS: u64 = 1_767_225_600_000;

pub(super) struct World {
    pub(super) seed: u64,
    pub(super) started: Instant,
    pub(super) plan: Mutex<FaultPlan>,
    pub(super) trace: Mutex<Trace>,
    pub(super) panics: Mutex<Vec<String>>,
    /// Decides faults and delays.
    pub(super) fate: SimRandom,
    /// For the test itself.
    pub(super) test_random: Arc<SimRandom>,
}

impl World {
    pub(super) fn new(seed: u64) -> Arc<World> {
        // Streams of their own, so that a draw more in one place does not change what another place draws.
        let root = SimRandom::new(seed);
        Arc::new(World {
            seed,
            started: Instant::now(),
            plan: Mutex::default(),
            trace: Mutex::new(Trace::new()),
            panics: Mutex::default(),
            fate: SimRandom::new(root.next_u64()),
            test_random: Arc::new(SimRandom::new(root.next_u64())),
        })
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    pub(super) fn note(&self, line: &str) {
        let at = self.elapsed().as_millis();
        self.trace.lock().push(format!("{at} {line}"));
    }

    /// A delay up to `max`, none in about half of the cases.
    pub(super) fn draw_delay(&self, max: Duration) -> Duration {
        if max.is_zero() || self.fate.chance(0.5) {
            return Duration::ZERO;
        }
        let micros = u64::try_from(max.as_micros()).unwrap_or(u64::MAX);
        Duration::from_micros(self.fate.below(micros.saturating_add(1)))
    }

    /// Waits for a drawn delay.
    pub(super) async fn delay(&self, max: Duration) {
        pause(self.draw_delay(max)).await;
    }
}

/// Waits; not even a turn of the scheduler for no time.
pub(super) async fn pause(delay: Duration) {
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
}
