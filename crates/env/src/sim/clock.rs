//! A node's clocks on virtual time: owns the node's offset from true time. Guarantees that `monotonic` does not see jumps of
//! the wall clock. Never waits in real time.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::time::Instant;

use super::world::{FIRST_MS, World};
use crate::Clock;

pub(super) struct SimClock {
    pub(super) world: Arc<World>,
    /// How far the wall clock is ahead of true time, in milliseconds; shared with the node, which makes it jump.
    pub(super) ahead_ms: Arc<AtomicI64>,
    /// How long the machine slept, in milliseconds; shared with the node as well.
    pub(super) asleep_ms: Arc<AtomicU64>,
    /// Monotonic time begins anew with every start of the node.
    pub(super) started: Instant,
}

impl Clock for SimClock {
    fn now(&self) -> u64 {
        let passed = u64::try_from(self.world.elapsed().as_millis()).unwrap_or(u64::MAX);
        FIRST_MS.saturating_add(passed).saturating_add_signed(self.ahead_ms.load(Ordering::Relaxed))
    }

    fn monotonic(&self) -> Duration {
        self.started.elapsed()
    }

    fn monotonic_asleep(&self) -> Duration {
        self.started.elapsed() + Duration::from_millis(self.asleep_ms.load(Ordering::Relaxed))
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        async move { tokio::time::sleep(duration).await }.boxed()
    }
}
