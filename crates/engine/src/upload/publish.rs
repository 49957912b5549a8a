//! One finished segment file becomes a committed object: owns the three steps (reserve an id, adopt the file, propose
//! the commit) and their retries, for the uploader and for recovery alike. Guarantees that a crash between any two
//! leaves either the WAL segment or the commit, that an object whose outcome is unknown is not deleted (P13), and
//! that a commit names the WAL start it expects (P7). Never removes a file.

use std::sync::Arc;

use kelda_env::StoreError;
use kelda_format::command::{CommitObjects, NewObject, ReserveObjects};
use kelda_format::keys::data_key;
use kelda_format::rows::ObjectKind;
use kelda_format::{ObjectId, SessionId, Timestamp};
use kelda_meta::{Command, Outcome, ProposeError, Rejection};

use super::plan::SegmentSummary;
use crate::retry::Backoff;
use crate::session::{Session, Shared};

/// Who publishes, and for which WAL.
pub(crate) struct Publisher {
    pub(crate) shared: Arc<Shared>,
    /// The session that proposes.
    pub(crate) session: SessionId,
    /// The session whose WAL it is.
    pub(crate) wal: SessionId,
    /// The session with whose end the tries end; none for recovery, whose caller drops it instead.
    pub(crate) until: Option<Arc<Session>>,
}

/// A finished segment file: entries, index, footer, synced.
pub(crate) struct Finished<'a> {
    pub(crate) number: u64,
    pub(crate) path: &'a str,
    pub(crate) bytes: u64,
    pub(crate) summary: &'a SegmentSummary,
}

/// Why a segment was not published.
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
enum Tried {
    Committed,
    /// The reservation is gone: upload again under a new id (P13).
    NewId,
}

impl Publisher {
    /// Publishes a segment. Tries until it succeeds, is refused for good or told to stop.
    pub(crate) async fn publish(&self, finished: &Finished<'_>) -> Result<(), Unpublished> {
        loop {
            // What is said of streams that are gone needs no object.
            let streams_left = {
                let view = self.shared.meta.view();
                finished.summary.streams().any(|(id, _)| view.stream(id).is_some())
            };
            let object = match streams_left {
                true => Some(self.adopt(finished).await?),
                false => None,
            };
            match self.commit(finished, object).await? {
                Tried::Committed => return Ok(()),
                Tried::NewId => {}
            }
        }
    }

    async fn reserve(&self) -> Result<ObjectId, Unpublished> {
        let mut backoff = Backoff::new(&self.shared.config);
        loop {
            let at = Timestamp(self.shared.env.clock.now());
            let command = ReserveObjects { session: self.session, count: 1, at };
            match self.shared.meta.propose(command.into()).await {
                Ok(Outcome::Reserved { first, .. }) => return Ok(first),
                // Ids are never reused, so a reservation with an unknown outcome is simply not used.
                Ok(_)
                | Err(ProposeError::Unavailable(_) | ProposeError::Full(_) | ProposeError::Unknown(_)) => {}
                Err(ProposeError::Rejected(rejection)) => return Err(Unpublished::Rejected(rejection)),
            }
            self.pause(&mut backoff).await?;
        }
    }

    async fn adopt(&self, finished: &Finished<'_>) -> Result<ObjectId, Unpublished> {
        let mut backoff = Backoff::new(&self.shared.config);
        let mut object = self.reserve().await?;
        loop {
            let key = data_key(self.shared.identity.cluster, object);
            match self.shared.store.adopt(&*self.shared.env.disk, finished.path, &key).await {
                Ok(_) => return Ok(object),
                // P8, P13: whose bytes they are is not known, and ids are free.
                Err(StoreError::AlreadyExists { .. }) => object = self.reserve().await?,
                Err(error @ (StoreError::SyncFailed { .. } | StoreError::BadKey { .. })) => {
                    return Err(Unpublished::Store(error.to_string()));
                }
                Err(error) => tracing::warn!(%error, "the store did not take a segment, trying again"),
            }
            self.pause(&mut backoff).await?;
        }
    }

    async fn commit(&self, finished: &Finished<'_>, object: Option<ObjectId>) -> Result<Tried, Unpublished> {
        let command = self.command(finished, object);
        let mut backoff = Backoff::new(&self.shared.config);
        loop {
            match self.shared.meta.propose(command.clone()).await {
                Ok(_) => return Ok(Tried::Committed),
                Err(ProposeError::Rejected(rejection)) => return self.judge(finished, rejection),
                Err(error) => tracing::warn!(%error, "a commit has no outcome yet, trying again"),
            }
            self.pause(&mut backoff).await?;
        }
    }

    /// P7: one commit covers the segment as one slot of the WAL, with the WAL start it expects.
    fn command(&self, finished: &Finished<'_>, object: Option<ObjectId>) -> Command {
        let view = self.shared.meta.view();
        let parts = object.map(|object| finished.summary.parts(&view, object)).unwrap_or_default();
        let objects = object
            .map(|id| NewObject { id, kind: ObjectKind::Segment, bytes: finished.bytes })
            .into_iter()
            .collect();
        CommitObjects {
            session: self.session,
            wal: self.wal,
            expect_wal_start: finished.number,
            wal_start: finished.number + 1,
            objects,
            parts,
            at: Timestamp(self.shared.env.clock.now()),
        }
        .into()
    }

    /// A rejection of a repeat may mean that the first try took effect; one for a missing reservation is mended.
    fn judge(&self, finished: &Finished<'_>, rejection: Rejection) -> Result<Tried, Unpublished> {
        let view = self.shared.meta.view();
        if view.session(self.wal).is_some_and(|row| row.wal_start > finished.number) {
            return Ok(Tried::Committed);
        }
        match rejection {
            Rejection::NotReserved { .. } => Ok(Tried::NewId),
            rejection => Err(Unpublished::Rejected(rejection)),
        }
    }

    async fn pause(&self, backoff: &mut Backoff) -> Result<(), Unpublished> {
        let pause = backoff.next();
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
