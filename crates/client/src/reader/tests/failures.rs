//! Handlers that fail, and copies of what they fail at.

use futures::future::BoxFuture;

use super::super::dead_letters::Target;
use super::server::Trouble::{Fine, Refused};
use super::*;
use crate::error::{Error, Problem};

/// A handler that fails at these offsets.
fn failing(seen: &Arc<Seen>, at: &'static [u64]) -> Handler {
    let quick = seen.quick();
    Arc::new(move |record: StoredRecord, origin| {
        let offset = record.offset.0;
        let handled = quick(record, origin);
        Box::pin(async move {
            handled.await?;
            if at.contains(&offset) { Err("no luck").result() } else { Ok(()) }
        })
    })
}

#[tokio::test(start_paused = true)]
async fn a_failure_stops_the_reader_at_that_entry() {
    let server = Server::holding(0, 9);
    let seen = Arc::new(Seen::default());
    let (shared, asking) = open(&server, options(StartAt::First), None, None).await;
    let mut diagnostics = shared.diagnostics.subscribe();
    let workers = start_workers(&shared, &failing(&seen, &[4]), 1);
    let reader = Reader::start(shared, asking, workers);
    let mut state = reader.watch();
    state.wait_for(|state| matches!(state, ReaderState::Ended(_))).await.unwrap();
    assert_eq!(seen.offsets(), [0, 1, 2, 3, 4], "nothing is retried and nothing further handed over");
    assert_eq!((reader.handled(), reader.failed(), reader.skipped()), (4, 1, 0));
    assert_eq!((reader.last_handled_offset(), reader.is_active()), (Some(3), false));
    let end = reader.join().await;
    assert!(matches!(&end, ReaderEnd::Failed { offset: 4, cause: FailureCause::Handler(_) }), "{end:?}");
    let said = diagnostics.try_next();
    let stopped = crate::Diagnostic::ReaderStopped {
        stream: "events".to_owned(),
        offset: Some(4),
        cause: "the entry at offset 4 failed: no luck".to_owned(),
    };
    assert_eq!(said, Some(stopped));
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_a_failure() {
    let server = Server::holding(0, 3);
    for late in [false, true] {
        let handler: Handler = Arc::new(move |record: StoredRecord, _| {
            let offset = record.offset.0;
            assert!(late || offset != 1, "at {offset}");
            Box::pin(async move {
                tokio::task::yield_now().await;
                assert!(offset != 1, "at {offset}");
                Ok(())
            })
        });
        let reader = read(&server, options(StartAt::First), handler).await;
        let end = reader.join().await;
        let said = |text: &str| text == "at 1";
        assert!(
            matches!(&end, ReaderEnd::Failed { offset: 1, cause: FailureCause::Panic(text) } if said(text)),
            "{end:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn with_several_handlers_those_at_work_return_and_the_lowest_failure_counts() {
    let server = Server::holding(0, 20);
    let seen = Arc::new(Seen::default());
    let slow = seen.handler(|offset| Duration::from_millis(100 * (10 - offset.min(9))));
    let handler: Handler = Arc::new(move |record: StoredRecord, origin| {
        let offset = record.offset.0;
        let handled = slow(record, origin);
        Box::pin(async move {
            handled.await?;
            if offset == 1 || offset == 2 { Err("no luck").result() } else { Ok(()) }
        })
    });
    let reader = read(&server, Options { concurrency: 3, ..options(StartAt::First) }, handler).await;
    let mut state = reader.watch();
    state.wait_for(|state| matches!(state, ReaderState::Ended(_))).await.unwrap();
    assert!(seen.at_work.lock().is_empty(), "the end is told after the last handler returned");
    assert_eq!((reader.handled(), reader.failed(), reader.last_handled_offset()), (1, 2, Some(0)));
    assert_eq!(reader.join().await.offset(), Some(1));
}

/// Where copies go in these tests.
struct Copies {
    written: Arc<Mutex<Vec<kelda_format::Record>>>,
    answers: Mutex<Vec<u16>>,
}

impl Target for Copies {
    fn write(&self, copy: kelda_format::Record) -> BoxFuture<'_, Result<(), Error>> {
        let status = self.answers.lock().pop().unwrap_or(200);
        if status == 200 {
            self.written.lock().push(copy);
            return Box::pin(std::future::ready(Ok(())));
        }
        let problem = Problem { status, ..Problem::default() };
        Box::pin(std::future::ready(Err(Error::Problem(Box::new(problem)))))
    }
}

fn letters(answers: &[u16]) -> (DeadLetters, Arc<Mutex<Vec<kelda_format::Record>>>) {
    let written = Arc::new(Mutex::new(Vec::new()));
    let answers = Mutex::new(answers.iter().rev().copied().collect());
    let target = Box::new(Copies { written: Arc::clone(&written), answers });
    (DeadLetters::new(target, RetryPolicy::forever()), written)
}

#[tokio::test(start_paused = true)]
async fn skipping_goes_on_with_a_copy_of_each() {
    let server = Server::holding(0, 6);
    let seen = Arc::new(Seen::default());
    // The first copy meets a server that is away twice.
    let (dead, written) = letters(&[503, 502, 200]);
    let handler = failing(&seen, &[1, 4]);
    let reader = read_with(&server, options(StartAt::First), None, Some(dead), handler).await;
    until("all", || reader.last_handled_offset() == Some(5)).await;
    assert_eq!((reader.handled(), reader.failed(), reader.skipped()), (4, 2, 2));
    assert!(reader.is_active());
    assert_eq!(seen.offsets(), [0, 1, 2, 3, 4, 5]);
    assert_eq!(written.lock().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_copy_that_cannot_be_written_stops_the_reader_before_it_counts() {
    let server = Server::holding(0, 6);
    let seen = Arc::new(Seen::default());
    let (dead, written) = letters(&[404]);
    let handler = failing(&seen, &[1]);
    let reader = read_with(&server, options(StartAt::First), None, Some(dead), handler).await;
    let mut state = reader.watch();
    state.wait_for(|state| matches!(state, ReaderState::Ended(_))).await.unwrap();
    assert_eq!((reader.last_handled_offset(), reader.failed(), reader.skipped()), (Some(0), 1, 0));
    let end = reader.join().await;
    assert!(matches!(&end, ReaderEnd::DeadLetter { offset: 1, .. }), "{end:?}");
    assert!(written.lock().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_waits_for_its_copies_can_be_stopped() {
    let server = Server::holding(0, 6);
    let seen = Arc::new(Seen::default());
    let (dead, _) = letters(&[503; 1_000]);
    let handler = failing(&seen, &[1]);
    let reader = read_with(&server, options(StartAt::First), None, Some(dead), handler).await;
    until("the failure", || seen.offsets().len() == 2).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let end = reader.stop().await;
    assert!(matches!(end, ReaderEnd::Stopped), "{end:?}");
}

#[test]
fn what_becomes_of_entries_is_measured() {
    let measured = |skips: bool, running: bool| {
        let values = crate::meters::tests::recorded(async move {
            let server = Server::holding(0, 5);
            server.trouble([Fine, Refused, Refused]);
            let seen = Arc::new(Seen::default());
            let dead = skips.then(|| letters(&[]).0);
            let options = Options { prefetch: 4, ..options(StartAt::First) };
            let reader = read_with(&server, options, None, dead, failing(&seen, &[1])).await;
            let (shared, mut state) = (Arc::clone(&reader.shared), reader.watch());
            if skips {
                until("all are finished", || reader.last_handled_offset() == Some(4)).await;
            } else {
                state.wait_for(|state| matches!(state, ReaderState::Ended(_))).await.unwrap();
            }
            if running {
                std::mem::forget((reader, shared));
            } else {
                reader.stop().await;
            }
        });
        move |name: &str| values[&format!("reader_{name}")]
    };
    let count = measured(true, true);
    assert_eq!((count("records_total"), count("bytes_total"), count("page_records")), (5.0, 5.0, 5.0));
    assert_eq!((count("handled_records_total"), count("failed_records_total")), (4.0, 1.0));
    assert_eq!((count("skipped_records_total"), count("reconnects_total")), (1.0, 1.0));
    assert_eq!((count("position_offset"), count("unfinished_records")), (5.0, 0.0));
    assert_eq!((count("running_readers"), count("caught_up_readers")), (1.0, 1.0));
    let count = measured(true, false);
    assert_eq!((count("running_readers"), count("caught_up_readers")), (0.0, 0.0));
    let count = measured(false, false);
    assert_eq!((count("handled_records_total"), count("failed_records_total")), (1.0, 1.0));
    assert_eq!((count("skipped_records_total"), count("unfinished_records")), (0.0, 0.0));
}
