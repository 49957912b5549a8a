//! The one task that expires streams and finishes what a crash left of creations. Sleeps until the earliest
//! deadline; does nothing at all while no stream has one.

use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::stream::{self, StreamExt};
use kelda_env::Env;
use kelda_format::StreamId;

use crate::NodeFault;
use crate::expiry::Deadlines;
use crate::service::Inner;

/// How long after a creation was left unfinished it is cleared up, or tried to be again.
const CLEAR_UP_PAUSE: Duration = Duration::from_secs(5);

/// Pause between looks while the clock is not right, and nothing expires.
const CLOCK_PAUSE: Duration = Duration::from_secs(1);

/// Expiries that are proposed at once.
const AT_ONCE: usize = 32;

/// Runs until the service is dropped or the task aborted.
pub(crate) async fn run(service: Weak<Inner>, env: Env, deadlines: Arc<Deadlines>) {
    let mut pause = Some(Duration::ZERO);
    loop {
        tokio::select! {
            biased;
            () = deadlines.moved.notified() => {}
            () = sleep(&env, pause) => {
                let Some(inner) = service.upgrade() else { return };
                inner.expire_passed().await;
                inner.clear_up().await;
            }
        }
        let Some(inner) = service.upgrade() else { return };
        pause = inner.pause();
    }
}

async fn sleep(env: &Env, pause: Option<Duration>) {
    match pause {
        Some(pause) => env.clock.sleep(pause).await,
        None => std::future::pending().await,
    }
}

impl Inner {
    /// How long there is nothing to do; for ever if nothing is ahead.
    fn pause(&self) -> Option<Duration> {
        let next = self.deadlines.lock().next();
        let expiry = next.map(|at| Duration::from_millis(at.saturating_sub(self.monotonic_ms())));
        let clear_up = (self.leftovers.len() > 0).then_some(CLEAR_UP_PAUSE);
        let pause = expiry.into_iter().chain(clear_up).min();
        if self.clock_is_suspect() { pause.map(|pause| pause.max(CLOCK_PAUSE)) } else { pause }
    }

    /// Removes the streams whose deadline has passed, a batch at a time.
    async fn expire_passed(&self) {
        if self.clock_is_suspect() {
            return;
        }
        let now = self.monotonic_ms();
        let passed = self.deadlines.lock().take_passed(now, self.config.expiry_batch);
        let expiries = stream::iter(passed).map(|stream| async move {
            if let Err(error) = self.expire(stream).await {
                tracing::debug!(%stream, %error, "a stream was not expired, later again");
            }
        });
        expiries.buffer_unordered(AT_ONCE).collect::<()>().await;
    }

    /// Expires a stream whose deadline has passed; one that is gone, or not due after all, counts as done.
    pub(crate) async fn expire(&self, stream: StreamId) -> Result<(), NodeFault> {
        let ended = match self.due(stream) {
            Due::Gone => Ok(()),
            Due::No => return Ok(()),
            Due::Expire => self.engine.expire(stream).await,
            Due::Delete => self.engine.delete(stream).await,
        };
        ended.or_else(|error| self.end_fault(error).map_or(Ok(()), Err))?;
        self.deadlines.forget(stream);
        Ok(())
    }

    /// How a stream is to end now, if at all.
    fn due(&self, stream: StreamId) -> Due {
        let view = self.meta.view();
        let Some(entry) = view.entry_of(stream).filter(|entry| entry.stream == stream) else {
            return Due::Gone;
        };
        if !self.is_expired(entry) {
            return Due::No;
        }
        let persisted = view.stream(stream).and_then(|row| row.deadline);
        if persisted.is_some_and(|deadline| deadline.0 <= self.now().0) { Due::Expire } else { Due::Delete }
    }
}

/// How a stream is to end now.
enum Due {
    /// It did already.
    Gone,
    /// Not at all.
    No,
    /// By its persisted deadline.
    Expire,
    /// By the deadline that this node knows, although the persisted one lies ahead: a session was recovered,
    /// which gives everything its full time (P5), or the wall clock went back. What was found expired once may
    /// not come back.
    Delete,
}
