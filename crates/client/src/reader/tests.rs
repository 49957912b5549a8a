//! Readers over a transport of the test, in virtual time: hours pass in a moment, and everything that can go wrong with
//! a connection does.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod edges;
mod endings;
mod failures;
mod outages;
mod positions;
mod server;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kelda_format::{StoredRecord, StreamId};
use parking_lot::Mutex;

use super::builder::{Options, assemble};
use super::dead_letters::DeadLetters;
use super::run::start_workers;
use super::shared::Handler;
use super::*;
use crate::RetryPolicy;
use crate::checkpoint::Position;
use crate::diagnostic::Sender;
use crate::message::Origin;
use crate::meters::{Labels, ReaderMeters};
use crate::start::StartAt;
use server::Server;

const ID: StreamId = StreamId(5);

fn options(start: StartAt) -> Options {
    Options {
        start,
        end: feed::End::default(),
        prefetch: 10,
        concurrency: 1,
        skip: None,
        on_gap: OnGap::Fail,
        resume: None,
        save_every: SaveEvery::entry(),
        reconnect: RetryPolicy::forever(),
    }
}

/// A reader of `server` with this handler.
async fn read(server: &Arc<Server>, options: Options, handler: Handler) -> Reader {
    read_with(server, options, None, None, handler).await
}

async fn read_with(
    server: &Arc<Server>,
    options: Options,
    stored: Option<Position>,
    dead: Option<DeadLetters>,
    handler: Handler,
) -> Reader {
    let concurrency = options.concurrency;
    let (shared, asking) = open(server, options, stored, dead).await;
    let workers = start_workers(&shared, &handler, concurrency);
    Reader::start(shared, asking, workers)
}

async fn open(
    server: &Arc<Server>,
    options: Options,
    stored: Option<Position>,
    dead: Option<DeadLetters>,
) -> (Arc<Shared>, Asking) {
    let (stream, content_type) = ("events".to_owned(), "text/plain".to_owned());
    let origin = Arc::new(Origin { stream, stream_id: ID, content_type });
    let meters = ReaderMeters::new(&Labels::new("events", "test"));
    let feed = Arc::clone(server) as Arc<dyn feed::Feed>;
    let (shared, asking) = assemble(origin, options, stored, dead, feed, Sender::new(), meters);
    asking.first(RetryPolicy::forever()).await.unwrap();
    (shared, asking)
}

/// What handlers saw.
#[derive(Default)]
struct Seen {
    order: Mutex<Vec<u64>>,
    at_work: Mutex<BTreeSet<u64>>,
    most_at_work: Mutex<usize>,
}

impl Seen {
    fn offsets(&self) -> Vec<u64> {
        self.order.lock().clone()
    }

    fn times(&self) -> BTreeMap<u64, u32> {
        let mut times = BTreeMap::new();
        self.order.lock().iter().for_each(|offset| *times.entry(*offset).or_default() += 1);
        times
    }

    /// A handler that takes so long for each entry, and notes it.
    fn handler(self: &Arc<Self>, takes: impl Fn(u64) -> Duration + Send + Sync + 'static) -> Handler {
        let seen = Arc::clone(self);
        Arc::new(move |record: StoredRecord, _| {
            let (seen, offset) = (Arc::clone(&seen), record.offset.0);
            let pause = takes(offset);
            Box::pin(async move {
                assert!(seen.at_work.lock().insert(offset), "two copies of {offset} at once");
                seen.order.lock().push(offset);
                let now = seen.at_work.lock().len();
                let most = now.max(*seen.most_at_work.lock());
                *seen.most_at_work.lock() = most;
                if !pause.is_zero() {
                    tokio::time::sleep(pause).await;
                }
                seen.at_work.lock().remove(&offset);
                Ok(())
            })
        })
    }

    fn quick(self: &Arc<Self>) -> Handler {
        self.handler(|_| Duration::ZERO)
    }
}

/// Waits, in virtual time, until this is so.
async fn until(what: &str, mut so: impl FnMut() -> bool) {
    for _ in 0..2_000_000 {
        if so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("never: {what}");
}
