//! Recovering a log in the store: owns the passes over it and what ends the recovery. Guarantees that the WAL start is read in
//! a view that contains the fence (P6), that a recoverer whose commands name another WAL start than is in force starts over
//! from a newer view (P7), so that several may run, and that slots go last. Never touches a log that is not fenced.

use std::sync::Arc;
use std::time::Duration;

use kelda_format::SessionId;
use kelda_format::command::{CompleteRecovery, ExpireReservations};
use kelda_format::rows::SessionState;
use kelda_meta::Rejection;

use super::clean;
use super::pass::{Passed, Progress, pass};
use crate::error::StartError;
use crate::health::{Health, HealthCell};
use crate::propose::{Failure, propose};
use crate::recovery::run::{proposed, wal_start};
use crate::retry::Backoff;
use crate::session::Shared;

/// How often a long recovery says in the log how far it is.
const SAID_EVERY: Duration = Duration::from_secs(5);

/// Recovers the log of the fenced session `session` for the live session `by`. What is left is shown in `health`, if that
/// is given: a recovery beside the daily work shows it in the log only.
pub(crate) async fn recover(
    shared: &Arc<Shared>,
    session: SessionId,
    by: SessionId,
    health: Option<&HealthCell>,
) -> Result<(), StartError> {
    let mut backoff = Backoff::new(&shared.config);
    loop {
        // P6: the session is fenced in this view.
        let start = wal_start(shared, session)?;
        if is_recovered(shared, session) {
            break;
        }
        let (slots_left, bytes_left) = clean::size(shared, session, start).await;
        tracing::info!(%session, wal_start = start, slots = slots_left, "recovering a write-ahead log in the store");
        let mut left =
            Left { shared, session, health, slots_left, bytes_left, said: shared.env.clock.monotonic() };
        left.show();
        match pass(shared, session, by, start, &mut left).await? {
            Passed::Sealed(end) if complete(shared, session, by, end).await? => break,
            Passed::Sealed(_) | Passed::Moved => {
                tracing::info!(%session, "another node recovers the same log, starting over");
                shared.env.clock.sleep(backoff.jittered(&*shared.env.random)).await;
            }
        }
    }
    // P13: objects whose upload the session did not commit are destroyed through the queue.
    let at = shared.now();
    proposed(propose(shared, ExpireReservations { owner: Some(session), before: at, at }).await)?;
    clean::clean(shared, session).await;
    tracing::info!(%session, "recovered");
    Ok(())
}

fn is_recovered(shared: &Shared, session: SessionId) -> bool {
    shared.meta.view().session(session).is_some_and(|row| row.state == SessionState::Recovered)
}

/// Releases the streams of a session whose log is committed up to `end`. False when it was not up to there (P7).
async fn complete(shared: &Shared, session: SessionId, by: SessionId, end: u64) -> Result<bool, StartError> {
    let at = shared.now();
    match propose(shared, CompleteRecovery { session, by, wal_start: end, at }).await {
        Err(Failure::Rejected(Rejection::WalStart { .. })) => Ok(false),
        result => proposed(result).map(|()| true),
    }
}

/// What is left to read, as far as it is known.
struct Left<'a> {
    shared: &'a Shared,
    session: SessionId,
    health: Option<&'a HealthCell>,
    slots_left: u64,
    bytes_left: u64,
    /// When it was said last, by the monotonic clock.
    said: Duration,
}

impl Left<'_> {
    fn show(&self) {
        if let Some(health) = self.health {
            let (segments_left, bytes_left) = (self.slots_left, self.bytes_left);
            health.set(Health::Recovering { segments_left, bytes_left });
        }
    }
}

impl Progress for Left<'_> {
    fn read(&mut self, bytes: u64) {
        self.slots_left = self.slots_left.saturating_sub(1);
        self.bytes_left = self.bytes_left.saturating_sub(bytes);
        self.show();
        let now = self.shared.env.clock.monotonic();
        if now.saturating_sub(self.said) >= SAID_EVERY {
            self.said = now;
            let (slots, bytes) = (self.slots_left, self.bytes_left);
            tracing::info!(session = %self.session, slots, bytes, "still to be recovered");
        }
    }
}
