//! Proposing commits until their outcome is known: owns the reservation of object ids and the retries, for every kind of
//! write-ahead log, for the uploader and for recovery alike. Guarantees that a commit names the WAL start it expects (P7),
//! and that one whose reservation is gone is not forced (P13). Never uploads, never removes anything.

use std::sync::Arc;
use std::time::Duration;

use kelda_format::command::{CommitObjects, CommitPart, NewObject, ReserveObjects};
use kelda_format::{ObjectId, SessionId};
use kelda_meta::{Command, Outcome, ProposeError, Rejection, State};

use crate::retry::Backoff;
use crate::session::{Session, Shared};

/// Who commits, and for which WAL.
pub(crate) struct Committer {
    pub(crate) shared: Arc<Shared>,
    /// The session that proposes.
    pub(crate) session: SessionId,
    /// The session whose WAL it is.
    pub(crate) wal: SessionId,
    /// The session with whose end the tries end; none for recovery, whose caller drops it instead.
    pub(crate) until: Option<Arc<Session>>,
}

/// The slots that one commit covers: all from `first` on, which is the WAL start it expects, before `next`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slots {
    pub(crate) first: u64,
    pub(crate) next: u64,
}

/// Why something was not committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unpublished {
    /// Asked to stop.
    Stopped,
    /// The metadata machine refused for good.
    Rejected(Rejection),
    /// The store refuses everything until it is opened anew.
    Store(String),
}

/// How one try to commit ended.
pub(crate) enum Tried {
    /// All of the slots are committed, by this commit or by another one of the same slots.
    Committed,
    /// A reservation is gone: upload again under a new id (P13).
    NewId,
}

impl Unpublished {
    /// Ends the session whose own commit it was.
    pub(crate) fn end(&self, session: &Session) {
        match self {
            Unpublished::Stopped => {}
            // P10: a wrong epoch or end offset on a live stream ends the session, as does a fence.
            Unpublished::Rejected(rejection) => session.end(&format!("a commit was refused: {rejection}")),
            Unpublished::Store(error) => session.end(&format!("the object store failed: {error}")),
        }
    }
}

impl Committer {
    /// Commits the own WAL of a session, until it ends.
    pub(crate) fn of(session: &Arc<Session>) -> Committer {
        Committer {
            shared: Arc::clone(&session.shared),
            session: session.id,
            wal: session.id,
            until: Some(Arc::clone(session)),
        }
    }

    /// Reserves `count` consecutive ids; returns the first.
    pub(crate) async fn reserve(&self, count: u32) -> Result<ObjectId, Unpublished> {
        let mut backoff = Backoff::new(&self.shared.config);
        loop {
            let at = self.shared.now();
            let command = ReserveObjects { session: self.session, count, at };
            match self.shared.meta.propose(command.into()).await {
                Ok(Outcome::Reserved { first, .. }) => return Ok(first),
                // Ids are never reused, so a reservation with an unknown outcome is simply not used.
                Ok(_)
                | Err(ProposeError::Unavailable(_) | ProposeError::Full(_) | ProposeError::Unknown(_)) => {}
                Err(ProposeError::Rejected(rejection)) => return Err(Unpublished::Rejected(rejection)),
            }
            self.pause(backoff.next()).await?;
        }
    }

    /// P7: one commit covers `slots`, with the WAL start it expects; `parts` are made from a view in which everything before
    /// is committed.
    pub(crate) async fn commit(
        &self,
        slots: Slots,
        objects: &[NewObject],
        parts: impl FnOnce(&State) -> Vec<CommitPart>,
    ) -> Result<Tried, Unpublished> {
        let command: Command = CommitObjects {
            session: self.session,
            wal: self.wal,
            expect_wal_start: slots.first,
            wal_start: slots.next,
            objects: objects.to_vec(),
            parts: parts(&self.shared.meta.view()),
            at: self.shared.now(),
        }
        .into();
        let mut backoff = Backoff::new(&self.shared.config);
        loop {
            match self.shared.meta.propose(command.clone()).await {
                Ok(_) => return Ok(Tried::Committed),
                Err(ProposeError::Rejected(rejection)) => return self.judge(slots, rejection),
                Err(error) => tracing::warn!(%error, "a commit has no outcome yet, trying again"),
            }
            self.pause(backoff.next()).await?;
        }
    }

    /// A rejection of a repeat may mean that the first try took effect; one for a missing reservation is mended. Commits
    /// cover contiguous slots, so when the WAL start is at or past the end of these, all of them are committed.
    fn judge(&self, slots: Slots, rejection: Rejection) -> Result<Tried, Unpublished> {
        let view = self.shared.meta.view();
        if view.session(self.wal).is_some_and(|row| row.wal_start >= slots.next) {
            return Ok(Tried::Committed);
        }
        match rejection {
            Rejection::NotReserved { .. } => Ok(Tried::NewId),
            rejection => Err(Unpublished::Rejected(rejection)),
        }
    }

    /// Pauses between two tries.
    pub(crate) async fn pause(&self, pause: Duration) -> Result<(), Unpublished> {
        match &self.until {
            Some(session) if session.pause(pause).await => Ok(()),
            Some(_) => Err(Unpublished::Stopped),
            None => {
                self.shared.env.clock.sleep(pause).await;
                Ok(())
            }
        }
    }
}
