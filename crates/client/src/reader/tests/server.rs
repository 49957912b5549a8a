//! A server that holds records in memory and goes wrong as it is told: owns the records and the trouble, guarantees that it
//! keeps the promises of the real one (pages are whole, consecutive, within the count). Never sends more than was asked for.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use kelda_format::{Offset, Record, StoredRecord, StreamId, Timestamp};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::super::core::{Ask, Given};
use super::super::feed::{Feed, FeedError, Page};
use super::ID;
use crate::error::{Error, Problem};
use crate::start::StartAt;

/// How the next questions go wrong.
#[derive(Clone, Copy, Debug)]
pub(super) enum Trouble {
    /// The connection is refused.
    Refused,
    /// The connection is cut after so long, before the answer is whole.
    Cut(Duration),
    /// The server says that it is overloaded.
    Overloaded,
    /// No trouble.
    Fine,
}

pub(super) struct Server {
    state: Mutex<State>,
    appended: Notify,
    pub(super) questions: AtomicU64,
    /// The most records that a question asked for.
    pub(super) most_asked: AtomicU64,
}

struct State {
    start: u64,
    end: u64,
    sealed: bool,
    id: StreamId,
    trouble: VecDeque<Trouble>,
    /// Seed of trouble without end, and how many of 100 questions go wrong.
    chance: Option<(u64, u64)>,
}

impl Server {
    /// A server with the records of these offsets.
    pub(super) fn holding(start: u64, end: u64) -> Arc<Server> {
        let (trouble, chance) = (VecDeque::new(), None);
        let state = Mutex::new(State { start, end, sealed: false, id: ID, trouble, chance });
        let (questions, most_asked) = (AtomicU64::new(0), AtomicU64::new(0));
        Arc::new(Server { state, appended: Notify::new(), questions, most_asked })
    }

    pub(super) fn append(&self, count: u64) {
        self.state.lock().end += count;
        self.appended.notify_waiters();
    }

    pub(super) fn seal(&self) {
        self.state.lock().sealed = true;
        self.appended.notify_waiters();
    }

    pub(super) fn trim(&self, start: u64) {
        self.state.lock().start = start;
    }

    /// The name stands for another stream from now on.
    pub(super) fn replace(&self, id: StreamId) {
        self.state.lock().id = id;
        self.appended.notify_waiters();
    }

    pub(super) fn end(&self) -> u64 {
        self.state.lock().end
    }

    /// The next questions go wrong in this way.
    pub(super) fn trouble(&self, trouble: impl IntoIterator<Item = Trouble>) {
        self.state.lock().trouble.extend(trouble);
    }

    /// So many of 100 questions go wrong from now on, in ways that depend on the seed only.
    pub(super) fn chance(&self, seed: u64, of_100: u64) {
        self.state.lock().chance = Some((seed, of_100));
    }

    async fn answer(&self, ask: Ask, expected: Option<StreamId>) -> Result<Page, FeedError> {
        self.questions.fetch_add(1, Ordering::Relaxed);
        self.most_asked.fetch_max(ask.count, Ordering::Relaxed);
        let trouble = self.state.lock().next_trouble();
        tokio::time::sleep(Duration::from_millis(1)).await;
        match trouble {
            Trouble::Refused => return Err(lost("connection refused")),
            Trouble::Overloaded => {
                let problem = Problem { status: 503, ..Problem::default() };
                return Err(FeedError::Failed(Error::Problem(Box::new(problem))));
            }
            Trouble::Cut(after) => {
                // What was asked for may be on its way when the connection ends, and is lost with it.
                let _ = tokio::time::timeout(after, self.wait(ask)).await;
                return Err(lost("connection reset"));
            }
            Trouble::Fine => {}
        }
        self.wait(ask).await;
        self.state.lock().page(ask, expected)
    }

    /// Waits at the tail, up to the long-poll's limit.
    async fn wait(&self, ask: Ask) {
        let limit = tokio::time::sleep(Duration::from_secs(25));
        let mut limit = std::pin::pin!(limit);
        while ask.wait && self.state.lock().is_at_tail(ask) {
            let appended = self.appended.notified();
            tokio::select! {
                () = appended => {}
                () = &mut limit => return,
            }
        }
    }
}

impl State {
    fn is_at_tail(&self, ask: Ask) -> bool {
        ask.start == StartAt::Offset(self.end) && !self.sealed && self.id == ID
    }

    fn next_trouble(&mut self) -> Trouble {
        if let Some(trouble) = self.trouble.pop_front() {
            return trouble;
        }
        let Some((seed, of_100)) = &mut self.chance else { return Trouble::Fine };
        let mut random = || {
            *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *seed >> 33
        };
        if random() % 100 >= *of_100 {
            return Trouble::Fine;
        }
        match random() % 4 {
            0 => Trouble::Refused,
            1 => Trouble::Overloaded,
            2 => Trouble::Cut(Duration::from_millis(random() % 2_000)),
            _ => Trouble::Cut(Duration::from_secs(random() % 90)),
        }
    }

    fn page(&self, ask: Ask, expected: Option<StreamId>) -> Result<Page, FeedError> {
        if expected.is_some_and(|expected| expected != self.id) {
            return Err(FeedError::Changed { found: self.id.to_string() });
        }
        let from = match ask.start {
            StartAt::First | StartAt::Time(_) | StartAt::Back(_) => self.start,
            StartAt::Last => self.end.saturating_sub(1).max(self.start),
            StartAt::Next => self.end,
            StartAt::Tail(records) => self.end.saturating_sub(records).max(self.start),
            StartAt::Offset(at) if at < self.start => return Err(FeedError::Gone { start: self.start }),
            StartAt::Offset(at) if at > self.end => panic!("asked for {at}, past the tail {}", self.end),
            StartAt::Offset(at) => at,
        };
        let to = from.saturating_add(ask.count).min(self.end);
        let entries = (from..to).map(|offset| (offset, record(offset))).collect();
        let caught_up = to == self.end;
        let given =
            Given { entries, sparse: false, next: Some(to), caught_up, sealed: caught_up && self.sealed };
        Ok(Page { stream_id: self.id, given, reached: false })
    }
}

impl Feed for Server {
    fn fetch(&self, ask: Ask, expected: Option<StreamId>) -> BoxFuture<'_, Result<Page, FeedError>> {
        Box::pin(self.answer(ask, expected))
    }
}

fn record(offset: u64) -> StoredRecord {
    StoredRecord {
        offset: Offset(offset),
        timestamp: Timestamp(offset),
        record: Record::new(offset.to_string()),
    }
}

fn lost(cause: &str) -> FeedError {
    FeedError::Failed(Error::Unreachable { endpoint: "test".to_owned(), cause: cause.to_owned() })
}
