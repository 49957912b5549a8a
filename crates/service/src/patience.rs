//! How long a request waits for a stream to be open again: owns the one bound on retries towards the engine.
//!
//! A session that ends is followed by another one within moments; requests that come in between are held up and
//! not refused, but not for longer than a client would wait for a refusal.

use std::sync::atomic::Ordering;
use std::time::Duration;

use kelda_engine::Health;

use crate::service::Inner;

/// How long a request tries to reach an open stream.
const REOPEN_WAIT: Duration = Duration::from_secs(5);
/// Pause before the second try; doubles with each.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// What is left of one request's patience.
pub(crate) struct Patience {
    ends: Duration,
    pause: Duration,
}

impl Inner {
    /// The patience of a request that begins now.
    pub(crate) fn patience(&self) -> Patience {
        Patience { ends: self.env.clock.monotonic() + REOPEN_WAIT, pause: FIRST_PAUSE }
    }

    /// No patience at all.
    pub(crate) fn impatience(&self) -> Patience {
        Patience { ends: Duration::ZERO, pause: FIRST_PAUSE }
    }

    /// Pauses before another try; false when there should be none.
    pub(crate) async fn wait_again(&self, patience: &mut Patience) -> bool {
        let hopeless = matches!(self.engine.health(), Health::Ended { .. } | Health::Damaged { .. })
            || self.stopping.load(Ordering::Relaxed);
        if hopeless || self.env.clock.monotonic() + patience.pause > patience.ends {
            return false;
        }
        self.env.clock.sleep(patience.pause).await;
        patience.pause = (patience.pause * 2).min(LONGEST_PAUSE);
        true
    }
}
