//! What the parts of one reader share: owns the rules' state and the ways to wait for it, guarantees that whoever waits is
//! woken when there is something to do. Never holds a lock over an await.

use std::sync::{Arc, OnceLock};

use futures::future::BoxFuture;
use kelda_format::{StoredRecord, StreamId};
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use super::core::{Core, Finish, Ticket};
use super::dead_letters::DeadLetters;
use super::end::{FailureCause, ReaderEnd, ReaderState};
use super::saver::Saver;
use crate::checkpoint::Position;
use crate::diagnostic::{Diagnostic, Sender};
use crate::error::Error;
use crate::message::Origin;
use crate::meters::ReaderMeters;

/// Handles one record: decodes it and calls what the user gave.
pub(crate) type Handler =
    Arc<dyn Fn(StoredRecord, Arc<Origin>) -> BoxFuture<'static, Result<(), FailureCause>> + Send + Sync>;

/// What became of the copy of a failed entry.
pub(crate) enum Aside {
    /// It is written, or not needed.
    Written,
    /// It cannot be written.
    Failed(Error),
    /// The reader stops, and the entry stays unfinished.
    GivenUp,
}

/// One reader.
pub(crate) struct Shared {
    pub(crate) stream: String,
    pub(crate) core: Mutex<Core<StoredRecord>>,
    /// Known when the first page has come.
    pub(crate) origin: OnceLock<Arc<Origin>>,
    /// There may be an entry to hand over, or there will be none.
    pub(crate) entries: Notify,
    /// There may be room to ask for more, or the reader is to end.
    pub(crate) room: Notify,
    /// Whether it is to stop.
    pub(crate) closing: watch::Sender<bool>,
    pub(crate) state: watch::Sender<ReaderState>,
    /// Why it ends, as soon as that is known.
    pub(crate) ending: Mutex<Option<ReaderEnd>>,
    pub(crate) dead: Option<DeadLetters>,
    pub(crate) saver: Option<Saver>,
    pub(crate) diagnostics: Sender,
    pub(crate) meters: ReaderMeters,
}

impl Shared {
    pub(crate) fn stream_id(&self) -> Option<StreamId> {
        self.origin.get().map(|origin| origin.stream_id)
    }

    /// The next entry to handle; nothing when there will be none.
    pub(crate) async fn next(&self) -> Option<(Ticket, StoredRecord)> {
        loop {
            if let Some(next) = self.take() {
                return next;
            }
            let mut woken = std::pin::pin!(self.entries.notified());
            woken.as_mut().enable();
            // Something may have come before the wait began.
            if let Some(next) = self.take() {
                return next;
            }
            woken.await;
        }
    }

    /// An entry, or that there will be none, or nothing yet.
    fn take(&self) -> Option<Option<(Ticket, StoredRecord)>> {
        let mut core = self.core.lock();
        match core.hand_over() {
            Some(entry) => Some(Some(entry)),
            None => (core.is_closing() || core.is_exhausted()).then_some(None),
        }
    }

    /// Deals with how an entry went. `record` is there when a copy may be needed.
    pub(crate) async fn settle(
        &self,
        ticket: Ticket,
        record: Option<StoredRecord>,
        result: Result<(), FailureCause>,
    ) {
        let cause = match result {
            Ok(()) => return self.finished(ticket, Finish::Handled).await,
            Err(cause) => cause,
        };
        match record.filter(|_| self.dead.is_some()) {
            Some(record) => {
                let aside = self.put_aside(ticket, &record, &cause).await;
                self.conclude(ticket, cause, aside).await;
            }
            None => self.failed(ticket, cause),
        }
    }

    /// An entry that is out was dropped without a word: a failure, unless the reader stops anyhow.
    pub(crate) fn dropped(&self, ticket: Ticket) {
        let mut core = self.core.lock();
        if core.is_closing() {
            core.give_back(ticket);
            drop(core);
            return self.wake();
        }
        drop(core);
        self.failed(ticket, FailureCause::Dropped);
    }

    /// The entry failed and that stops the reader.
    pub(crate) fn failed(&self, ticket: Ticket, cause: FailureCause) {
        self.core.lock().fail(ticket);
        self.meters.failed();
        self.end(ReaderEnd::Failed { offset: ticket.offset, cause });
    }

    /// Puts a copy of a failed entry aside. Changes nothing else, so it may be given up and done again.
    pub(crate) async fn put_aside(
        &self,
        ticket: Ticket,
        record: &StoredRecord,
        cause: &FailureCause,
    ) -> Aside {
        let (Some(dead), Some(origin)) = (&self.dead, self.origin.get()) else { return Aside::GivenUp };
        if !self.core.lock().is_current(ticket) {
            // It comes again, and what becomes of it then counts.
            return Aside::Written;
        }
        let copy = match dead.copy(origin, record, cause) {
            Ok(copy) => copy,
            Err(error) => return Aside::Failed(error.into()),
        };
        let mut closing = self.closing.subscribe();
        tokio::select! {
            written = dead.write(copy) => written.map_or_else(Aside::Failed, |()| Aside::Written),
            _ = closing.wait_for(|closing| *closing) => Aside::GivenUp,
        }
    }

    /// Counts a failed entry, once it is known what became of its copy.
    pub(crate) async fn conclude(&self, ticket: Ticket, cause: FailureCause, aside: Aside) {
        match aside {
            Aside::Written => {
                if self.core.lock().is_current(ticket) {
                    let (stream, offset, cause) = (self.stream.clone(), ticket.offset, cause.to_string());
                    self.diagnostics.send(Diagnostic::EntrySkipped { stream, offset, cause });
                }
                self.finished(ticket, Finish::Skipped).await;
            }
            Aside::Failed(error) => {
                self.core.lock().fail(ticket);
                self.meters.failed();
                self.end(ReaderEnd::DeadLetter { offset: ticket.offset, cause, error });
            }
            Aside::GivenUp => {
                self.core.lock().give_back(ticket);
                self.wake();
            }
        }
    }

    /// The entry is finished: tells who waits for that, and stores the position when it is due.
    async fn finished(&self, ticket: Ticket, how: Finish) {
        let (counted, wants, done, progress) = {
            let mut core = self.core.lock();
            let counted = core.finish(ticket, how);
            let done = core.is_idle() && (core.is_exhausted() || core.is_closing());
            (counted, core.wants(), done, (core.restart(), core.outstanding()))
        };
        match how {
            Finish::Handled if counted => self.meters.handled(),
            Finish::Skipped if counted => self.meters.skipped(),
            _ => {}
        }
        if wants || done || progress.1 == 0 {
            self.meters.progress(progress.0, progress.1);
        }
        if wants || done {
            self.room.notify_one();
        }
        if !counted || done {
            self.entries.notify_waiters();
        }
        if let Some(saver) = &self.saver
            && counted
            && let Err(end) = saver.finished(|| self.position()).await
        {
            self.end(end);
        }
    }

    /// How far it has got, as it is stored.
    pub(crate) fn position(&self) -> Option<Position> {
        let offset = self.core.lock().last_handled()?;
        Some(Position { stream_id: self.stream_id()?, offset })
    }

    /// It is to stop: no further entry is handed over.
    pub(crate) fn stop(&self) {
        self.end(ReaderEnd::Stopped);
    }

    /// It ends for this reason, unless there is one already. Of two failures the lower one counts: it is where to go on.
    pub(crate) fn end(&self, end: ReaderEnd) {
        let mut ending = self.ending.lock();
        let replaces = match (&*ending, end.offset()) {
            (None, _) => true,
            (Some(before), Some(offset)) => before.offset().is_none_or(|before| offset < before),
            (Some(_), None) => false,
        };
        if replaces {
            *ending = Some(end);
        }
        drop(ending);
        self.core.lock().stop();
        self.closing.send_replace(true);
        self.state.send_if_modified(|state| {
            let active = state.is_active();
            if active {
                *state = ReaderState::Stopping;
            }
            active
        });
        self.wake();
    }

    /// Nothing further comes, and this is why. What was given is still handed over.
    pub(crate) fn no_more(&self, end: ReaderEnd) {
        self.ending.lock().get_or_insert(end);
        self.core.lock().no_more();
        self.wake();
    }

    fn wake(&self) {
        self.room.notify_one();
        self.entries.notify_waiters();
    }

    /// Whether all that was handed over came back, and nothing further will be.
    fn is_over(&self) -> bool {
        let core = self.core.lock();
        core.is_idle() && (core.is_closing() || core.is_exhausted())
    }

    /// Waits until nothing is at work and nothing further will be. One may wait.
    pub(crate) async fn over(&self) {
        while !self.is_over() {
            self.room.notified().await;
        }
    }
}
