//! Stopping a node.
//!
//! Owns the order: close the listeners and end those who wait, let what is in flight finish, then flush and close engine
//! and metadata. Guarantees that each step has a limit and that the whole ends within [`LIMIT`]. What a step did not
//! finish is recovered at the next start: everything that was acknowledged is in the write-ahead log.

use std::time::Duration;

use super::{Node, Phase};

/// How long a stop takes at most.
pub const LIMIT: Duration = Duration::from_secs(10);
/// How long requests in flight may take of it.
const REQUESTS_LIMIT: Duration = Duration::from_secs(5);
/// How long each of engine, service and metadata may take of the rest.
const CLOSE_LIMIT: Duration = Duration::from_secs(4);

impl Node {
    /// Stops. Returns whether everything was closed cleanly.
    pub async fn stop(self) -> bool {
        let env = &self.env;
        let deadline = env.clock.monotonic() + LIMIT;
        self.phase.set(Phase::Stopping);
        self.stopping.cancel();
        self.ending.cancel();
        self.connections.close();
        if env.timeout(REQUESTS_LIMIT, self.connections.wait()).await.is_err() {
            tracing::warn!(
                connections = self.connections.len(),
                "connections did not finish in time and are cut"
            );
            self.killing.cancel();
        }
        let mut clean = true;
        let left = |limit: Duration| limit.min(deadline.saturating_sub(env.clock.monotonic()));
        if env.timeout(left(CLOSE_LIMIT), self.service.shutdown()).await.is_err() {
            tracing::warn!("deadlines of streams could not be stored in time");
            clean = false;
        }
        match env.timeout(left(CLOSE_LIMIT), self.engine.shutdown()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!(%error, "the engine did not close cleanly; the next start recovers");
                clean = false;
            }
            Err(_) => {
                tracing::warn!("the engine did not close in time; the next start recovers");
                clean = false;
            }
        }
        if env.timeout(left(CLOSE_LIMIT), self.metalog.shutdown()).await.is_err() {
            tracing::warn!("the metadata log did not close in time");
            clean = false;
        }
        clean
    }
}
