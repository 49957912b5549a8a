//! The system's clocks: owns wall clock, monotonic clock and the timers of tokio. Guarantees that a clock set before 1970
//! reads as 0. Never smooths jumps of the wall clock: whoever cares compares it with `monotonic`.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use futures::FutureExt;
use futures::future::BoxFuture;

use crate::Clock;

/// The system's clocks.
pub struct RealClock {
    started: Instant,
}

impl RealClock {
    /// A clock whose monotonic time begins now.
    #[must_use]
    pub fn new() -> RealClock {
        RealClock { started: Instant::now() }
    }
}

impl Default for RealClock {
    fn default() -> RealClock {
        RealClock::new()
    }
}

impl Clock for RealClock {
    fn now(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    fn monotonic(&self) -> Duration {
        self.started.elapsed()
    }

    fn monotonic_asleep(&self) -> Duration {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let (seconds, nanos) = (u64::try_from(now.tv_sec), u32::try_from(now.tv_nsec));
        Duration::new(seconds.unwrap_or_default(), nanos.unwrap_or_default())
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        // Made on first poll, so that the timer belongs to the runtime that waits for it.
        async move { tokio::time::sleep(duration).await }.boxed()
    }
}
