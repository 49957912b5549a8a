//! The edges of handlers, windows and copies.

use futures::future::BoxFuture;

use super::super::dead_letters::Target;
use super::super::messages::Messages;
use super::server::Trouble::{Cut, Fine};
use super::*;
use crate::error::Error;

#[tokio::test(start_paused = true)]
async fn a_handler_that_never_returns_is_waited_for_and_nothing_follows() {
    let server = Server::holding(0, 5);
    let seen = Arc::new(Seen::default());
    let reader = read(&server, options(StartAt::First), seen.handler(|_| Duration::from_secs(1 << 40))).await;
    until("the first", || seen.offsets() == [0]).await;
    let state = reader.watch();
    let stopped = tokio::time::timeout(Duration::from_secs(86_400), reader.stop()).await;
    assert!(stopped.is_err(), "stop waits for the handler");
    assert!(matches!(*state.borrow(), ReaderState::Stopping), "{:?}", *state.borrow());
    assert_eq!(seen.offsets(), [0]);
}

/// How a handler ends its own reader.
type Ending = fn(Reader) -> BoxFuture<'static, Option<ReaderEnd>>;

const ENDINGS: [(&str, Ending); 3] = [
    ("stop", |reader| Box::pin(async { Some(reader.stop().await) })),
    ("join", |reader| Box::pin(async { Some(reader.join().await) })),
    ("drop", |reader| {
        drop(reader);
        Box::pin(std::future::ready(None))
    }),
];

/// A handler that ends the reader in `own` at offset 2 in this way, says what that gave, and is at work for a minute more.
fn ending(seen: &Arc<Seen>, own: &Own, ending: Ending) -> Handler {
    let (own, quick) = (own.clone(), seen.quick());
    Arc::new(move |record: StoredRecord, origin| {
        let (own, last, handled) = (own.clone(), record.offset.0 == 2, quick(record, origin));
        Box::pin(async move {
            handled.await?;
            if last {
                until("the handle is there", || own.reader.lock().is_some()).await;
                let reader = own.reader.lock().take().unwrap();
                *own.told.lock() = ending(reader).await;
                tokio::time::sleep(Duration::from_secs(60)).await;
            }
            Ok(())
        })
    })
}

#[derive(Clone, Default)]
struct Own {
    reader: Arc<Mutex<Option<Reader>>>,
    told: Arc<Mutex<Option<ReaderEnd>>>,
}

#[tokio::test(start_paused = true)]
async fn a_handler_may_end_its_own_reader() {
    for (name, how) in ENDINGS {
        for concurrency in [1, 3] {
            let server = Server::holding(0, 3);
            let (own, seen) = (Own::default(), Arc::new(Seen::default()));
            let options = Options { concurrency, ..options(StartAt::First) };
            let reader = read(&server, options, ending(&seen, &own, how)).await;
            let mut state = reader.watch();
            *own.reader.lock() = Some(reader);
            let ended = state.wait_for(|state| matches!(state, ReaderState::Ended(ReaderEnd::Stopped)));
            let ended = tokio::time::timeout(Duration::from_secs(600), ended).await;
            assert!(ended.is_ok(), "{name} waits for the handler that it is called in");
            server.append(2);
            tokio::time::sleep(Duration::from_secs(600)).await;
            assert_eq!(seen.offsets(), [0, 1, 2], "{name}: nothing further is handed over");
            let told = own.told.lock().clone();
            assert_eq!(matches!(told, Some(ReaderEnd::Stopped)), name != "drop", "{name}: {told:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn stopping_in_a_handler_keeps_the_position_until_it_has_returned() {
    let server = Server::holding(0, 3);
    let (own, seen) = (Own::default(), Arc::new(Seen::default()));
    let (shared, asking) = open(&server, options(StartAt::First), None, None).await;
    let workers = start_workers(&shared, &ending(&seen, &own, ENDINGS[0].1), 1);
    *own.reader.lock() = Some(Reader::start(Arc::clone(&shared), asking, workers));
    until("told", || own.told.lock().is_some()).await;
    assert_eq!(shared.core.lock().last_handled(), Some(1), "the handler is at work");
    assert!(matches!(*shared.state.borrow(), ReaderState::Stopping));
    let mut state = shared.state.subscribe();
    state.wait_for(|state| matches!(state, ReaderState::Ended(_))).await.unwrap();
    assert_eq!(shared.core.lock().last_handled(), Some(2), "what it did counts");
}

#[tokio::test(start_paused = true)]
async fn a_handler_waits_for_another_reader_as_anybody_does() {
    let (server, other) = (Server::holding(0, 1), Server::holding(0, 4));
    other.seal();
    server.seal();
    let seen = Arc::new(Seen::default());
    let inner = Arc::new(Mutex::new(Some(
        read(&other, options(StartAt::First), seen.handler(|_| Duration::from_secs(60))).await,
    )));
    let handler: Handler = Arc::new(move |_, _| {
        let inner = inner.lock().take().unwrap();
        Box::pin(async move {
            let end = inner.join().await;
            assert!(matches!(end, ReaderEnd::Sealed), "{end}");
            Ok(())
        })
    });
    let end = read(&server, options(StartAt::First), handler).await.join().await;
    assert!(matches!(end, ReaderEnd::Sealed), "{end}");
    assert_eq!(seen.offsets(), [0, 1, 2, 3], "it was waited for");
}

#[tokio::test(start_paused = true)]
async fn entries_that_are_out_when_the_loop_is_dropped_may_still_be_done() {
    let server = Server::holding(0, 5);
    let (shared, asking) =
        open(&server, Options { concurrency: 10, ..options(StartAt::First) }, None, None).await;
    let decode = |body: &bytes::Bytes| Ok(String::from_utf8_lossy(body).into_owned());
    let mut messages =
        Messages::new(Reader::start(Arc::clone(&shared), asking, Vec::new()), Box::new(decode));
    let first = messages.next().await.unwrap().unwrap();
    let second = messages.next().await.unwrap().unwrap();
    let third = messages.next().await.unwrap().unwrap();
    let mut state = messages.reader().watch();
    drop(messages);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(matches!(*state.borrow(), ReaderState::Stopping), "three are out");
    first.done().await;
    // One that is dropped now is given back: the reader stops anyhow.
    drop(second);
    third.done().await;
    state.wait_for(|state| matches!(state, ReaderState::Ended(ReaderEnd::Stopped))).await.unwrap();
    let core = shared.core.lock();
    assert_eq!((core.counts().handled, core.counts().failed, core.last_handled()), (2, 0, Some(0)));
}

#[tokio::test(start_paused = true)]
async fn a_window_of_one_and_one_that_is_very_large() {
    for prefetch in [1, 20_000] {
        let server = Server::holding(0, 30_000);
        server.chance(prefetch, 20);
        server.seal();
        let seen = Arc::new(Seen::default());
        let first = if prefetch == 1 { 29_500 } else { 0 };
        let options = Options { prefetch, ..options(StartAt::Offset(first)) };
        let reader = read(&server, options, seen.quick()).await;
        let end = reader.join().await;
        assert!(matches!(end, ReaderEnd::Sealed), "{end:?}");
        let mut once = seen.offsets();
        once.dedup();
        assert!(once.into_iter().eq(first..30_000), "{prefetch}: each, in order");
        assert!(server.most_asked.load(std::sync::atomic::Ordering::Relaxed) <= prefetch);
    }
}

/// How many were skipped and the last one handled, at each copy.
type Counted = Arc<Mutex<Vec<(u64, Option<u64>)>>>;

/// A target that looks at its reader when a copy is written.
struct Watching {
    shared: Arc<std::sync::OnceLock<Arc<Shared>>>,
    counted: Counted,
}

impl Target for Watching {
    fn write(&self, _: kelda_format::Record) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(50)).await;
            let core = self.shared.get().unwrap().core.lock();
            self.counted.lock().push((core.counts().skipped, core.last_handled()));
            Ok(())
        })
    }
}

/// A reader whose handler takes a second and fails at offset 1, and what it had counted when each copy was written.
async fn watched(server: &Arc<Server>) -> (Reader, Counted) {
    let (slot, counted) = (Arc::new(std::sync::OnceLock::new()), Arc::new(Mutex::new(Vec::new())));
    let target = Watching { shared: Arc::clone(&slot), counted: Arc::clone(&counted) };
    let dead = DeadLetters::new(Box::new(target), RetryPolicy::forever());
    let (shared, asking) = open(server, options(StartAt::First), None, Some(dead)).await;
    assert!(slot.set(Arc::clone(&shared)).is_ok());
    let handler: Handler = Arc::new(|record: StoredRecord, _| {
        Box::pin(async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            if record.offset.0 == 1 { Err("no luck").result() } else { Ok(()) }
        })
    });
    let workers = start_workers(&shared, &handler, 1);
    (Reader::start(shared, asking, workers), counted)
}

#[tokio::test(start_paused = true)]
async fn a_copy_is_written_before_its_entry_is_finished() {
    let server = Server::holding(0, 3);
    server.seal();
    let (reader, counted) = watched(&server).await;
    let mut state = reader.watch();
    state.wait_for(|state| matches!(state, ReaderState::Ended(_))).await.unwrap();
    assert_eq!((reader.skipped(), reader.last_handled_offset()), (1, Some(2)));
    assert_eq!(*counted.lock(), [(0, Some(0))], "nothing was counted yet");
}

#[tokio::test(start_paused = true)]
async fn an_old_copy_that_fails_writes_nothing() {
    let server = Server::holding(0, 3);
    // Cut while the handler is at the entry that fails.
    server.trouble([Fine, Cut(Duration::from_millis(1_500))]);
    let (reader, counted) = watched(&server).await;
    until("all", || reader.last_handled_offset() == Some(2)).await;
    assert_eq!((reader.handled(), reader.failed(), reader.skipped()), (2, 1, 1));
    assert_eq!(*counted.lock(), [(0, Some(0))], "one copy, of the one that counts");
}

#[tokio::test(start_paused = true)]
async fn a_loop_has_an_entry_again_as_soon_as_its_old_copy_is_done() {
    let server = Server::holding(0, 1);
    server.trouble([Fine, Cut(Duration::from_millis(10))]);
    let (shared, asking) =
        open(&server, Options { concurrency: 10, ..options(StartAt::First) }, None, None).await;
    let decode = |body: &bytes::Bytes| Ok(String::from_utf8_lossy(body).into_owned());
    let mut messages = Messages::new(Reader::start(shared, asking, Vec::new()), Box::new(decode));
    let old = messages.next().await.unwrap().unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    let done = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        old.done().await;
    };
    // Sooner than the next answer, which would wake the loop as well.
    let again = tokio::time::timeout(Duration::from_secs(1), messages.next());
    let ((), again) = tokio::join!(done, again);
    assert_eq!(again.unwrap().unwrap().unwrap().offset(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_page_of_another_stream_is_not_taken() {
    let server = Server::holding(0, 3);
    let (shared, _asking) = open(&server, options(StartAt::First), None, None).await;
    let given = super::super::core::Given {
        entries: Vec::new(),
        next: Some(3),
        caught_up: true,
        sealed: false,
        sparse: false,
    };
    let page = feed::Page { stream_id: StreamId(6), given, reached: false };
    let taken = shared.take_page(page);
    assert!(matches!(taken, Err(Error::StreamChanged { expected: ID, .. })), "{taken:?}");
}
