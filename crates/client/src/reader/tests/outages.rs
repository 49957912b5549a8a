//! Lost connections: where a reader goes on, and that nothing is skipped or repeated.

use super::server::Trouble::{Cut, Fine, Overloaded, Refused};
use super::*;

const MOMENT: Duration = Duration::from_millis(100);

/// Hours of trouble, for each start and with one handler or several: each entry is finished once, with one handler in
/// order, and a repetition is an entry that was at work when a connection was lost.
#[tokio::test(start_paused = true)]
async fn hours_of_trouble_neither_skip_nor_repeat() {
    let starts = [
        StartAt::First,
        StartAt::Next,
        StartAt::Last,
        StartAt::Offset(37),
        StartAt::Offset(50),
        StartAt::time(std::time::UNIX_EPOCH),
        StartAt::Back(MOMENT),
    ];
    for (round, start) in starts.into_iter().enumerate() {
        for concurrency in [1, 4] {
            let server = Server::holding(30, 50);
            let seen = Arc::new(Seen::default());
            let began = tokio::time::Instant::now();
            let options = Options { concurrency, ..options(start) };
            let handler = seen.handler(|offset| Duration::from_millis(offset * 37 % 700));
            let reader = read(&server, options, handler).await;
            let first = match start {
                StartAt::Next => 50,
                StartAt::Last => 49,
                StartAt::Offset(offset) => offset,
                _ => 30,
            };
            if first < 50 {
                // Something has to be given before the trouble begins: `last` is told anew until then.
                until("the first entry", || !seen.offsets().is_empty()).await;
            }
            server.chance(round as u64 * 2 + concurrency as u64, 30);
            for burst in 0..400 {
                server.append(burst % 17);
                tokio::time::sleep(Duration::from_millis(burst * 7_919 % 60_000)).await;
            }
            server.seal();
            let total = server.end() - first;
            let mut state = reader.watch();
            let ended = state.wait_for(|state| matches!(state, ReaderState::Ended(_))).await.unwrap().clone();
            assert!(matches!(ended, ReaderState::Ended(ReaderEnd::Sealed)), "{ended:?}");
            assert_eq!((reader.handled(), reader.failed()), (total, 0), "{start:?}");
            assert_eq!(reader.last_handled_offset(), Some(server.end() - 1));
            let times = seen.times();
            assert!(times.keys().copied().eq(first..server.end()), "{start:?}: each entry was handed over");
            assert!(*seen.most_at_work.lock() <= concurrency);
            if concurrency == 1 {
                let mut once = seen.offsets();
                once.dedup();
                assert!(once.is_sorted_by(|a, b| a < b), "{start:?}: in order");
            }
            assert!(server.most_asked.load(std::sync::atomic::Ordering::Relaxed) <= 10, "prefetch is real");
            assert!(began.elapsed() > Duration::from_secs(3 * 3_600), "{:?}", began.elapsed());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_entry_at_work_comes_again_after_its_handler_returned() {
    let server = Server::holding(0, 3);
    let seen = Arc::new(Seen::default());
    // The first question brings all there is; the second waits at the tail and is cut.
    server.trouble([Fine, Cut(MOMENT)]);
    let reader = read(&server, options(StartAt::First), seen.handler(|_| Duration::from_secs(1))).await;
    until("all handled", || reader.handled() == 3).await;
    assert_eq!(seen.offsets(), [0, 0, 1, 2], "once when the connection was cut, once again");
    assert_eq!(reader.last_handled_offset(), Some(2));
}

#[tokio::test(start_paused = true)]
async fn what_was_finished_above_the_restart_point_is_not_repeated() {
    let server = Server::holding(0, 8);
    let seen = Arc::new(Seen::default());
    server.trouble([Fine, Cut(Duration::from_secs(2))]);
    // The first takes long; the others are finished when the connection is cut.
    let slow = |offset| if offset == 0 { Duration::from_secs(5) } else { MOMENT };
    let options = Options { concurrency: 2, ..options(StartAt::First) };
    let reader = read(&server, options, seen.handler(slow)).await;
    until("the others", || reader.handled() == 7).await;
    assert_eq!(reader.last_handled_offset(), None, "nothing is whole from the start");
    until("all", || reader.handled() == 8).await;
    assert_eq!(
        seen.times(),
        BTreeMap::from_iter((0..8).map(|offset| (offset, if offset == 0 { 2 } else { 1 })))
    );
    assert_eq!(reader.last_handled_offset(), Some(7));
}

#[tokio::test(start_paused = true)]
async fn next_is_pinned_when_it_subscribed() {
    let server = Server::holding(0, 5);
    let seen = Arc::new(Seen::default());
    let reader = read(&server, options(StartAt::Next), seen.quick()).await;
    server.trouble([Refused; 20]);
    server.trouble([Cut(MOMENT); 5]);
    tokio::time::sleep(Duration::from_secs(30)).await;
    server.append(4);
    until("what came while it was away", || reader.handled() == 4).await;
    assert_eq!(seen.offsets(), [5, 6, 7, 8]);
}

#[tokio::test(start_paused = true)]
async fn given_nothing_yet_it_starts_where_it_was_told_to() {
    let server = Server::holding(0, 0);
    let seen = Arc::new(Seen::default());
    let reader = read(&server, options(StartAt::First), seen.quick()).await;
    // The long-poll that is under way ends first.
    server.trouble([Cut(Duration::ZERO)]);
    server.trouble([Refused; 40]);
    until("it is away", || matches!(reader.state(), ReaderState::Reconnecting)).await;
    server.append(6);
    // What it never saw is no gap for it.
    server.trim(2);
    until("all that is held", || reader.handled() == 4).await;
    assert_eq!(seen.offsets(), [2, 3, 4, 5]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_overloaded_is_no_lost_connection() {
    let server = Server::holding(0, 3);
    let seen = Arc::new(Seen::default());
    server.trouble([Fine, Overloaded, Overloaded]);
    let reader = read(&server, options(StartAt::First), seen.handler(|_| Duration::from_secs(1))).await;
    server.append(1);
    until("all", || reader.handled() == 4).await;
    assert_eq!(seen.offsets(), [0, 1, 2, 3], "nothing is repeated");
}

#[tokio::test(start_paused = true)]
async fn state_and_patience() {
    let server = Server::holding(0, 1);
    let seen = Arc::new(Seen::default());
    let reconnect = RetryPolicy::within(Duration::from_secs(60));
    let options = Options { reconnect, ..options(StartAt::First) };
    let reader = read(&server, options, seen.quick()).await;
    until("the first", || reader.handled() == 1).await;
    let mut state = reader.watch();
    server.trouble([Cut(MOMENT), Refused, Refused]);
    let away = |state: &ReaderState| matches!(state, ReaderState::Reconnecting);
    state.wait_for(away).await.unwrap();
    assert!(reader.is_active());
    state.wait_for(|state| matches!(state, ReaderState::Running)).await.unwrap();
    // An outage that is longer than the patience ends it.
    server.trouble([Refused; 10_000]);
    let end = reader.join().await;
    assert!(matches!(&end, ReaderEnd::Error(crate::Error::Unreachable { .. })), "{end:?}");
}
