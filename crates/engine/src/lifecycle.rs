//! What opens and ends a stream here: owns open, close, trim, delete and expire. Guarantees P5 (what ends a held stream
//! goes through its owner, which stops appends first) and that each is proposed by one caller at a time. Never touches
//! the WAL except to have it committed.

use std::sync::Arc;

use kelda_format::command::{CloseStream, DeleteStream, ExpireStream, OpenStream as OpenCommand, TrimStream};
use kelda_format::rows::{SessionState, StreamRow};
use kelda_format::{Command, Epoch, Offset, SessionId, StreamId, Timestamp};
use kelda_meta::Rejection;
use tokio::sync::oneshot;

use crate::engine::{Engine, Running};
use crate::error::{EndError, OpenError, ShutdownError};
use crate::propose::{Failure, propose};
use crate::stream::registry::Turn;
use crate::stream::{OpenStream, Phase};

impl Engine {
    /// The stream, opened if it is not. However many ask, it is opened once.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub async fn open(&self, stream: StreamId) -> Result<Arc<OpenStream>, OpenError> {
        self.inner.current.load_full().open(stream).await
    }

    /// Closes a stream: what is buffered is committed, then it is released. Nothing happens when it is not open.
    /// `deadline` is the sliding deadline as the service knows it; close persists it (P5).
    ///
    /// # Errors
    /// See [`EndError`].
    pub async fn close_stream(&self, stream: StreamId, deadline: Option<Timestamp>) -> Result<(), EndError> {
        self.detached(move |running| async move { running.close_stream(stream, deadline).await }).await
    }

    /// Removes the records before an offset and returns the first offset held afterwards. What lies above `before`
    /// stays; a position below the start changes nothing.
    ///
    /// # Errors
    /// See [`EndError`]; `PastTail` when the position lies past the durable tail.
    pub async fn trim(&self, stream: StreamId, before: Offset) -> Result<Offset, EndError> {
        self.inner.current.load_full().trim(stream, before).await
    }

    /// Has everything before an offset committed, as a fork there needs it (P14).
    ///
    /// # Errors
    /// See [`EndError`]; `PastTail` when the position lies past the durable tail.
    pub async fn commit_through(&self, stream: StreamId, offset: Offset) -> Result<(), EndError> {
        self.inner.current.load_full().commit_through(stream, offset).await
    }

    /// Deletes a stream and the name it lives under.
    ///
    /// # Errors
    /// See [`EndError`].
    pub async fn delete(&self, stream: StreamId) -> Result<(), EndError> {
        self.detached(move |running| async move { running.remove(stream, Removal::Delete).await }).await
    }

    /// Removes a stream whose deadline has passed; whether it has is for the caller to say.
    ///
    /// # Errors
    /// See [`EndError`].
    pub async fn expire(&self, stream: StreamId) -> Result<(), EndError> {
        self.detached(move |running| async move { running.remove(stream, Removal::Expire).await }).await
    }

    /// Runs what stops a stream to its end even when the caller goes away, which must not leave it stopped.
    async fn detached<F, R>(&self, work: F) -> Result<(), EndError>
    where
        F: FnOnce(Arc<Running>) -> R + Send + 'static,
        R: Future<Output = Result<(), EndError>> + Send + 'static,
    {
        let (answer, result) = oneshot::channel();
        let running = self.inner.current.load_full();
        self.inner.shared.env.spawn("kelda-end-stream", async move {
            // A caller that went away does not want the result.
            let _ = answer.send(work(running).await);
        });
        result.await.unwrap_or(Err(EndError::OutcomeUnknown))
    }
}

/// Why a stream is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Removal {
    Delete,
    Expire,
}

/// How this session stands to a stream.
struct Holding {
    row: StreamRow,
    /// This session and the epoch under which it holds the stream; none when nobody holds it.
    held: Option<(SessionId, Epoch)>,
}

impl Running {
    pub(crate) async fn open(&self, id: StreamId) -> Result<Arc<OpenStream>, OpenError> {
        if let Some(stream) = self.streams.get(id).filter(|stream| stream.is_open()) {
            return Ok(stream);
        }
        // A stream that is not there takes no turn, so that asking for it leaves nothing behind.
        if self.session.shared.meta.view().stream(id).is_none() {
            return Err(OpenError::Gone);
        }
        let ended = || OpenError::Unavailable("the session ended; a new one is being started".to_owned());
        let turn = self.streams.turn(id).await.ok_or_else(ended)?;
        if let Some(stream) = turn.stream() {
            return if stream.is_open() { Ok(stream) } else { Err(ended()) };
        }
        let (row, epoch) = self.acquire(id).await?;
        let stream = Arc::new(OpenStream::new(Arc::clone(&self.session), &row, epoch));
        if turn.set(Arc::clone(&stream)) { Ok(stream) } else { Err(ended()) }
    }

    /// Makes this session the owner, if it is not. P1: the log accepts it only for a stream that nobody holds.
    async fn acquire(&self, id: StreamId) -> Result<(StreamRow, Epoch), OpenError> {
        let shared = &self.session.shared;
        if let Some(held) = self.held(id)? {
            return Ok(held);
        }
        match propose(shared, OpenCommand { stream: id, session: self.session.id }).await {
            Ok(_) => self.held(id)?.ok_or(OpenError::Gone),
            Err(Failure::Rejected(Rejection::SessionEnded { .. })) => {
                self.session.end("fenced: the log refused to open a stream");
                Err(OpenError::Unavailable("the session ended".to_owned()))
            }
            Err(Failure::Rejected(Rejection::StreamGone { .. } | Rejection::NoSuchStream { .. })) => {
                Err(OpenError::Gone)
            }
            Err(Failure::Rejected(rejection)) => {
                self.held(id)?.ok_or_else(|| OpenError::Unavailable(rejection.to_string()))
            }
            Err(Failure::Unavailable(why) | Failure::Unknown(why)) => Err(OpenError::Unavailable(why)),
        }
    }

    /// The row and epoch when this session holds the stream in the view.
    fn held(&self, id: StreamId) -> Result<Option<(StreamRow, Epoch)>, OpenError> {
        let view = self.session.shared.meta.view();
        let row = view.stream(id).ok_or(OpenError::Gone)?;
        match row.owner {
            None => Ok(None),
            Some(owner) if owner == self.session.id => Ok(row.epoch.map(|epoch| (row.clone(), epoch))),
            Some(owner) => match view.session(owner).map(|session| session.state) {
                Some(SessionState::Live) => Err(OpenError::Elsewhere(owner)),
                _ => Err(OpenError::Unavailable(format!("session {owner} is not recovered yet"))),
            },
        }
    }

    fn holding(&self, id: StreamId) -> Result<Holding, EndError> {
        match self.held(id) {
            Ok(Some((row, epoch))) => Ok(Holding { row, held: Some((self.session.id, epoch)) }),
            Ok(None) => {
                let row = self.session.shared.meta.view().stream(id).cloned().ok_or(EndError::Gone)?;
                Ok(Holding { row, held: None })
            }
            Err(OpenError::Gone) => Err(EndError::Gone),
            Err(OpenError::Elsewhere(session)) => Err(EndError::Elsewhere(session)),
            Err(OpenError::Unavailable(why)) => Err(EndError::Unavailable(why)),
        }
    }

    async fn turn(&self, id: StreamId) -> Result<Turn, EndError> {
        let ended = || EndError::Unavailable("the session ended; a new one is being started".to_owned());
        self.streams.turn(id).await.ok_or_else(ended)
    }

    pub(crate) async fn close_stream(
        &self,
        id: StreamId,
        deadline: Option<Timestamp>,
    ) -> Result<(), EndError> {
        let turn = self.turn(id).await?;
        let holding = match self.holding(id) {
            Ok(holding) => holding,
            Err(EndError::Gone | EndError::Elsewhere(_)) => return Ok(()),
            Err(error) => return Err(error),
        };
        let Some((session, epoch)) = holding.held else { return Ok(()) };
        let stream = turn.stream();
        if let Some(stream) = &stream {
            stream.stop();
            self.commit_all_of(stream).await?;
        }
        let end = self.holding(id)?.row.end;
        let command = CloseStream { stream: id, session, epoch, end, deadline };
        let result = self.end_with(stream.as_deref(), command.into(), Phase::Closed).await;
        self.settle(&turn, &result);
        result
    }

    /// Has everything accepted for a stream committed.
    async fn commit_all_of(&self, stream: &OpenStream) -> Result<(), EndError> {
        if stream.state.lock().all_committed() || self.flush().await {
            return Ok(());
        }
        Err(EndError::OutcomeUnknown)
    }

    async fn commit_through(&self, id: StreamId, offset: Offset) -> Result<(), EndError> {
        let turn = self.turn(id).await?;
        self.committed_to(id, turn.stream().as_deref(), offset).await.map(drop)
    }

    /// How this session stands to a stream when everything before `offset` is committed.
    async fn committed_to(
        &self,
        id: StreamId,
        stream: Option<&OpenStream>,
        offset: Offset,
    ) -> Result<Holding, EndError> {
        let holding = self.holding(id)?;
        if offset <= holding.row.end {
            return Ok(holding);
        }
        // P5: beyond the committed end only the owner knows what is there. It commits first.
        let tail = stream.map_or(holding.row.end, OpenStream::tail);
        if offset > tail {
            return Err(EndError::PastTail { tail });
        }
        if !self.flush().await {
            return Err(EndError::Unavailable("the session ended".to_owned()));
        }
        self.holding(id)
    }

    pub(crate) async fn trim(&self, id: StreamId, before: Offset) -> Result<Offset, EndError> {
        let turn = self.turn(id).await?;
        let stream = turn.stream();
        let holding = self.committed_to(id, stream.as_deref(), before).await?;
        if before > holding.row.start {
            let epoch = holding.held.map_or(holding.row.epoch, |(_, epoch)| Some(epoch));
            let session = holding.held.map(|(session, _)| session);
            let at = self.session.shared.now();
            let command = TrimStream { stream: id, session, epoch, before, at };
            match propose(&self.session.shared, command).await {
                Ok(_) => {}
                Err(failure) => return Err(self.failed(failure)),
            }
            self.session.shared.upkeep.compaction.changed.add([id]);
            if let Some(stream) = &stream {
                stream.state.lock().cache.evict_through(before);
            }
        }
        Ok(self.holding(id)?.row.start)
    }

    async fn remove(&self, id: StreamId, removal: Removal) -> Result<(), EndError> {
        let turn = self.turn(id).await?;
        let holding = self.holding(id)?;
        let stream = turn.stream();
        if let Some(stream) = &stream {
            // P5: an append that begins after the removal was answered must not be acknowledged.
            stream.stop();
        }
        let session = holding.held.map(|(session, _)| session);
        let epoch = holding.held.map_or(holding.row.epoch, |(_, epoch)| Some(epoch));
        let at = self.session.shared.now();
        let command: Command = match removal {
            Removal::Delete => DeleteStream { stream: id, name: holding.row.name, session, epoch, at }.into(),
            Removal::Expire => ExpireStream { stream: id, session, epoch, at }.into(),
        };
        let result = self.end_with(stream.as_deref(), command, Phase::Gone).await;
        self.settle(&turn, &result);
        // Also those who wait for a stream that was not open.
        self.session.shared.waiters.wake(id);
        result
    }

    /// Proposes what ends a stopped stream. When it certainly did not happen, the stream takes appends again; when
    /// that is not known, the session has to end, since another may own the stream by now.
    async fn end_with(
        &self,
        stream: Option<&OpenStream>,
        command: Command,
        phase: Phase,
    ) -> Result<(), EndError> {
        match propose(&self.session.shared, command).await {
            Ok(_) => {
                if let Some(stream) = stream {
                    stream.end(phase);
                }
                Ok(())
            }
            Err(failure) => {
                let error = self.failed(failure);
                if let Some(stream) = stream {
                    match &error {
                        EndError::OutcomeUnknown => {
                            self.session.end("the end of a stream has no known outcome")
                        }
                        EndError::Gone => stream.end(Phase::Gone),
                        _ => stream.resume(),
                    }
                }
                Err(error)
            }
        }
    }

    fn settle(&self, turn: &Turn, result: &Result<(), EndError>) {
        if matches!(result, Ok(()) | Err(EndError::Gone)) {
            turn.clear();
        }
    }

    fn failed(&self, failure: Failure) -> EndError {
        match failure {
            Failure::Rejected(Rejection::StreamGone { .. } | Rejection::NoSuchStream { .. }) => {
                EndError::Gone
            }
            Failure::Rejected(Rejection::Held { by, .. }) => EndError::Elsewhere(by),
            Failure::Rejected(rejection @ Rejection::SessionEnded { .. }) => {
                self.session.end("fenced: the log refused a command");
                EndError::Unavailable(rejection.to_string())
            }
            Failure::Rejected(rejection) => EndError::Refused(rejection.to_string()),
            Failure::Unavailable(why) => EndError::Unavailable(why),
            Failure::Unknown(_) => EndError::OutcomeUnknown,
        }
    }

    /// P9: accepts nothing more, commits everything, releases what is held, then closes the session.
    pub(crate) async fn close(&self) -> Result<(), ShutdownError> {
        let failed = |what: &str| ShutdownError(what.to_owned());
        for stream in self.streams.all() {
            stream.stop();
        }
        if let Some(number) = self.session.wal.close()
            && !self.session.until_committed(number).await
        {
            return Err(failed("the session ended before everything was committed"));
        }
        let view = self.session.shared.meta.view();
        let held: Vec<StreamId> = view.held_by(self.session.id).collect();
        for id in held {
            self.close_stream(id, None).await.map_err(|error| ShutdownError(error.to_string()))?;
        }
        crate::start::close_session(&self.session).await
    }
}
