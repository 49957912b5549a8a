//! Waiting at the tail: owns how a wait for records ends. Guarantees that a change which happens while a reader
//! parks is not missed, for open and closed streams alike. Never opens a stream; a parked reader is a future and a
//! place in a list, no task.

use std::time::Duration;

use kelda_format::{Offset, StreamId};

use crate::engine::{Engine, Running};
use crate::types::Wait;

impl Engine {
    /// Waits until the durable tail is past `after`, or something else ends the wait.
    pub async fn wait(&self, stream: StreamId, after: Offset, timeout: Duration) -> Wait {
        let running = self.inner.current.load_full();
        let shared = &self.inner.shared;
        let parked = shared.waiters.park(stream);
        let mut timer = shared.env.clock.sleep(timeout);
        loop {
            let woken = parked.notify().notified();
            tokio::pin!(woken);
            // Before the look: a change after it wakes, a change before it is seen.
            woken.as_mut().enable();
            if let Some(wait) = running.news(stream, after) {
                return wait;
            }
            tokio::select! {
                biased;
                () = running.session.until_ended() => return Wait::Ended,
                () = woken => {}
                () = &mut timer => return Wait::TimedOut,
            }
        }
    }
}

impl Running {
    /// How a wait ends now, if it does.
    fn news(&self, stream: StreamId, after: Offset) -> Option<Wait> {
        let Some((_, bounds)) = self.look(stream) else { return Some(Wait::Gone) };
        if bounds.tail > after {
            Some(Wait::Data)
        } else if bounds.sealed {
            Some(Wait::Sealed)
        } else if self.session.ended().is_some() {
            Some(Wait::Ended)
        } else {
            None
        }
    }
}
