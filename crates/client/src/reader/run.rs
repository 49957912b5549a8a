//! What runs in the background: owns the loop that asks for entries, the workers that call the handler, and the end of
//! both. Guarantees that the end is told after the last handler returned and the position was stored. Never decides what
//! is asked for.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use tokio::task::JoinHandle;

use super::core::{Ask, Disorder};
use super::end::{FailureCause, ReaderEnd, ReaderState};
use super::feed::{Feed, FeedError, Page};
use super::shared::{Handler, Shared};
use crate::backoff::Backoff;
use crate::diagnostic::Diagnostic;
use crate::error::Error;
use crate::retry::RetryPolicy;
use crate::task;
use crate::timer::{self, Stopwatch};

/// What to do when records are gone that were to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnGap {
    /// Stop, after everything before the gap is handled.
    #[default]
    Fail,
    /// Say so (see [`Diagnostic::ReaderGap`]) and go on behind it.
    Continue,
}

/// The loop that asks.
pub(crate) struct Asking {
    pub(crate) shared: Arc<Shared>,
    pub(crate) feed: Arc<dyn Feed>,
    pub(crate) on_gap: OnGap,
    pub(crate) reconnect: RetryPolicy,
}

/// What came of one question.
enum Step {
    /// Go on.
    On,
    /// Nothing further comes.
    End(ReaderEnd),
    /// Try again after a pause.
    Again(Error),
}

impl Asking {
    /// Asks until there is nothing to ask for any more.
    pub(crate) async fn run(&self) {
        let shared = &*self.shared;
        let mut closing = shared.closing.subscribe();
        let mut backoff = Backoff::of(self.reconnect);
        loop {
            if *closing.borrow() || shared.core.lock().is_sealed() {
                return;
            }
            let ask = shared.core.lock().ask();
            let Some(ask) = ask else {
                shared.room.notified().await;
                continue;
            };
            let began = Stopwatch::start();
            let answer = tokio::select! {
                answer = self.feed.fetch(ask, shared.stream_id()) => answer,
                _ = closing.wait_for(|closing| *closing) => return,
            };
            if !ask.wait && answer.is_ok() {
                shared.meters.took(began.elapsed());
            }
            match self.step(ask, answer) {
                Step::On => backoff.reset(),
                Step::End(end) => return shared.no_more(end),
                Step::Again(error) => {
                    // How long a request waited at the tail says nothing.
                    if !ask.wait {
                        backoff.spend(began.elapsed());
                    }
                    let Some(pause) = backoff.pause() else { return shared.no_more(ReaderEnd::Error(error)) };
                    tokio::select! {
                        () = timer::sleep(pause) => {}
                        _ = closing.wait_for(|closing| *closing) => return,
                    }
                }
            }
        }
    }

    fn step(&self, ask: Ask, answer: Result<Page, FeedError>) -> Step {
        let shared = &*self.shared;
        match answer {
            Ok(page) => match shared.take_page(page) {
                Ok(()) => {
                    self.back();
                    Step::On
                }
                Err(error) => Step::End(ReaderEnd::Error(error)),
            },
            Err(FeedError::Gone { start }) => self.gap(start),
            Err(FeedError::Changed { found }) => {
                let stream = shared.stream.clone();
                let expected = shared.stream_id().unwrap_or_default();
                Step::End(ReaderEnd::Error(Error::StreamChanged { stream, expected, found }))
            }
            Err(FeedError::Failed(error)) if error.is_lost_connection() => {
                self.lost(&error);
                Step::Again(error)
            }
            Err(FeedError::Failed(error)) if error.is_retryable() => {
                tracing::debug!(stream = shared.stream, ?ask, %error, "asked in vain");
                shared.core.lock().unanswered();
                Step::Again(error)
            }
            Err(FeedError::Failed(error)) => Step::End(ReaderEnd::Error(error)),
        }
    }

    fn gap(&self, to: u64) -> Step {
        let shared = &*self.shared;
        let from = shared.core.lock().asked_at();
        match from.filter(|from| *from < to) {
            None => {
                let said =
                    format!("the server says that records before {to} are gone, which were not asked for");
                Step::End(ReaderEnd::Error(Error::Protocol(said)))
            }
            Some(from) if self.on_gap == OnGap::Fail => Step::End(ReaderEnd::Gap { from, to }),
            Some(from) => {
                shared.core.lock().gap(from, to);
                shared.diagnostics.send(Diagnostic::ReaderGap { stream: shared.stream.clone(), from, to });
                Step::On
            }
        }
    }

    /// The connection is lost.
    fn lost(&self, error: &Error) {
        let shared = &*self.shared;
        let resume_at = {
            let mut core = shared.core.lock();
            core.lost();
            core.restart()
        };
        let first = shared.state.send_if_modified(|state| {
            let first = matches!(state, ReaderState::Running);
            if first {
                *state = ReaderState::Reconnecting;
            }
            first
        });
        if first {
            shared.meters.lost();
            let (stream, cause) = (shared.stream.clone(), error.to_string());
            shared.diagnostics.send(Diagnostic::ReaderReconnecting { stream, resume_at, cause });
        }
    }

    /// The connection is there.
    fn back(&self) {
        let again = self.shared.state.send_if_modified(|state| {
            let again = matches!(state, ReaderState::Reconnecting);
            if again {
                *state = ReaderState::Running;
            }
            again
        });
        if again {
            let stream = self.shared.stream.clone();
            self.shared.diagnostics.send(Diagnostic::ReaderResumed { stream });
        }
    }
}

impl Shared {
    /// Takes what came.
    pub(crate) fn take_page(&self, page: Page) -> Result<(), Error> {
        if let Some(expected) = self.stream_id().filter(|expected| *expected != page.stream_id) {
            let (stream, found) = (self.stream.clone(), page.stream_id.to_string());
            return Err(Error::StreamChanged { stream, expected, found });
        }
        let (records, caught_up) = (page.given.entries.len() as u64, page.given.caught_up);
        let bytes = page.given.entries.iter().map(|(_, record)| record.record.body.len() as u64).sum();
        let mut core = self.core.lock();
        let taken = core.give(page.given);
        let (position, unfinished) = (core.restart(), core.outstanding());
        let reached = page.reached && core.is_sealed();
        drop(core);
        taken.map_err(|disorder: Disorder| Error::Protocol(disorder.to_string()))?;
        if reached {
            self.ending.lock().get_or_insert(ReaderEnd::Reached);
        }
        self.meters.page(records, bytes, caught_up);
        self.meters.progress(position, unfinished);
        self.entries.notify_waiters();
        Ok(())
    }
}

/// Starts `count` workers.
pub(crate) fn start_workers(shared: &Arc<Shared>, handler: &Handler, count: usize) -> Vec<JoinHandle<()>> {
    let worker = || task::spawn(work(Arc::clone(shared), Arc::clone(handler)));
    std::iter::repeat_with(worker).take(count).collect()
}

/// Handles one entry after the other.
async fn work(shared: Arc<Shared>, handler: Handler) {
    while let Some((ticket, record)) = shared.next().await {
        let Some(origin) = shared.origin.get() else { return };
        let kept = shared.dead.is_some().then(|| record.clone());
        let (handler, origin) = (&handler, Arc::clone(origin));
        // The handler may panic before it gives a future as well.
        let handled = AssertUnwindSafe(async move { handler(record, origin).await }).catch_unwind();
        let handled = super::within::run(&shared, handled).await;
        let result = handled.unwrap_or_else(|panic| Err(FailureCause::Panic(said(&*panic))));
        shared.settle(ticket, kept, result).await;
    }
}

/// The message of a panic.
fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

/// Runs a reader to its end and tells it.
pub(crate) async fn supervise(asking: Asking, workers: Vec<JoinHandle<()>>) {
    let shared = Arc::clone(&asking.shared);
    let periodic = super::saver::start_periodic(&shared);
    asking.run().await;
    drop(asking);
    shared.over().await;
    // A worker catches what the handler does, and it ends when nothing further comes.
    for worker in workers {
        let _ = worker.await;
    }
    shared.closing.send_replace(true);
    if let Some(periodic) = periodic {
        let _ = periodic.await;
    }
    if let Some(saver) = &shared.saver
        && let Err(end) = saver.last(shared.position()).await
    {
        shared.end(end);
    }
    let end = shared.ending.lock().clone().unwrap_or(ReaderEnd::Sealed);
    if end.is_failure() {
        let (stream, offset, cause) = (shared.stream.clone(), end.offset(), end.to_string());
        shared.diagnostics.send(Diagnostic::ReaderStopped { stream, offset, cause });
    }
    shared.meters.ended();
    shared.state.send_replace(ReaderState::Ended(end));
    shared.entries.notify_waiters();
}
