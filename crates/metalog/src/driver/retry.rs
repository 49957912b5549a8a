//! Pauses between repetitions: owns the growth of the pause, guarantees the bound, never gives up by itself.

use std::time::Duration;

use kelda_env::Env;

use crate::config::{RETRY_FIRST, RETRY_MAX};
use crate::health::Plane;
use crate::shared::Shared;

/// Repetitions of one call.
#[derive(Debug)]
pub(crate) struct Retry {
    pause: Duration,
    used: bool,
}

impl Retry {
    pub(crate) fn new() -> Self {
        Self { pause: RETRY_FIRST, used: false }
    }

    /// Says that the log stalls, and waits: half of the pause for certain, half by chance.
    pub(crate) async fn wait(&mut self, env: &Env, shared: Option<&Shared>, reason: &str) {
        if !self.used {
            tracing::warn!(reason, "the metadata log does not answer, trying again");
        }
        self.used = true;
        if let Some(shared) = shared {
            shared.set_plane(Plane::Stalled { reason: reason.to_owned() });
        }
        let half = self.pause / 2;
        let chance = u64::try_from(half.as_micros()).unwrap_or(u64::MAX);
        env.clock.sleep(half + Duration::from_micros(env.random.below(chance + 1))).await;
        self.pause = (self.pause * 2).min(RETRY_MAX);
    }

    /// Says that the log answers again.
    pub(crate) fn done(&mut self, shared: Option<&Shared>) {
        if !self.used {
            return;
        }
        tracing::info!("the metadata log answers again");
        if let Some(shared) = shared {
            shared.set_plane(Plane::Ready);
        }
        *self = Self::new();
    }
}
