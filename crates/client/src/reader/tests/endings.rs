//! How readers end: told to, sealed, gaps, replaced streams; and loops of one's own.

use super::super::messages::Messages;
use super::server::Trouble::{Cut, Fine};
use super::*;

#[tokio::test(start_paused = true)]
async fn stop_waits_for_the_handlers_at_work() {
    let server = Server::holding(0, 100);
    let seen = Arc::new(Seen::default());
    let options = Options { concurrency: 3, ..options(StartAt::First) };
    let reader = read(&server, options, seen.handler(|_| Duration::from_secs(60))).await;
    until("three at work", || seen.at_work.lock().len() == 3).await;
    let end = reader.stop().await;
    assert!(matches!(end, ReaderEnd::Stopped), "{end:?}");
    assert!(seen.at_work.lock().is_empty());
    assert_eq!(seen.offsets(), [0, 1, 2], "nothing further was handed over");
}

#[tokio::test(start_paused = true)]
async fn dropping_the_handle_stops_the_reader() {
    let server = Server::holding(0, 1);
    let seen = Arc::new(Seen::default());
    let reader = read(&server, options(StartAt::First), seen.quick()).await;
    until("the first", || reader.handled() == 1).await;
    let mut state = reader.watch();
    drop(reader);
    state.wait_for(|state| matches!(state, ReaderState::Ended(ReaderEnd::Stopped))).await.unwrap();
    server.append(5);
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert_eq!(seen.offsets(), [0]);
}

#[tokio::test(start_paused = true)]
async fn a_gap_stops_the_reader_after_what_was_before_it() {
    let server = Server::holding(0, 12);
    let seen = Arc::new(Seen::default());
    let reader = read(&server, options(StartAt::First), seen.handler(|_| Duration::from_secs(1))).await;
    server.append(88);
    server.trim(50);
    let end = reader.join().await;
    assert!(matches!(end, ReaderEnd::Gap { from: 10, to: 50 }), "{end:?}");
    assert_eq!(seen.offsets(), (0..10).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_gap_may_be_passed_over() {
    let server = Server::holding(0, 12);
    let seen = Arc::new(Seen::default());
    let options = Options { on_gap: OnGap::Continue, ..options(StartAt::First) };
    let reader = read(&server, options, seen.handler(|_| Duration::from_secs(1))).await;
    server.append(40);
    server.trim(50);
    until("what is behind it", || reader.last_handled_offset() == Some(51)).await;
    assert_eq!(seen.offsets(), (0..10).chain(50..52).collect::<Vec<_>>());
    assert_eq!(reader.handled(), 12, "what is gone was not handled");
}

#[tokio::test(start_paused = true)]
async fn a_gap_at_the_restart_point_is_passed_over_too() {
    let server = Server::holding(0, 3);
    let seen = Arc::new(Seen::default());
    server.trouble([Fine, Cut(Duration::from_millis(10))]);
    let options = Options { on_gap: OnGap::Continue, ..options(StartAt::First) };
    let reader = read(&server, options, seen.handler(|_| Duration::from_secs(1))).await;
    server.append(2);
    server.trim(4);
    until("what is behind it", || reader.last_handled_offset() == Some(4)).await;
    assert_eq!(seen.offsets(), [0, 4], "what was at work when the connection was cut is gone");
    assert_eq!(reader.handled(), 1);
}

#[tokio::test(start_paused = true)]
async fn another_stream_of_the_same_name_is_told_apart() {
    let server = Server::holding(0, 3);
    let seen = Arc::new(Seen::default());
    let reader = read(&server, options(StartAt::First), seen.quick()).await;
    until("all", || reader.handled() == 3).await;
    server.replace(StreamId(6));
    let end = reader.join().await;
    let changed = |error: &crate::Error| matches!(error, crate::Error::StreamChanged { expected: ID, found, .. } if found == "6");
    assert!(matches!(&end, ReaderEnd::Error(error) if changed(error)), "{end:?}");
}

/// Messages with the text of each body.
async fn messages(server: &Arc<Server>, options: Options) -> Messages<String> {
    let concurrency = usize::try_from(options.prefetch).unwrap();
    let (shared, asking) = open(server, Options { concurrency, ..options }, None, None).await;
    let decode = |body: &bytes::Bytes| match body.as_ref() {
        b"7" => Err(crate::CodecError::new("lucky number", "7")),
        other => Ok(String::from_utf8_lossy(other).into_owned()),
    };
    Messages::new(Reader::start(shared, asking, Vec::new()), Box::new(decode))
}

#[tokio::test(start_paused = true)]
async fn a_loop_of_ones_own_says_what_is_done() {
    let server = Server::holding(0, 5);
    server.seal();
    let mut messages = messages(&server, options(StartAt::First)).await;
    let mut held = Vec::new();
    while let Some(delivery) = messages.next().await {
        let delivery = delivery.unwrap();
        assert_eq!(*delivery.payload(), delivery.offset().to_string());
        held.push(delivery);
    }
    assert_eq!(messages.reader().last_handled_offset(), None);
    for delivery in held.into_iter().rev() {
        delivery.done().await;
    }
    assert_eq!((messages.reader().last_handled_offset(), messages.reader().handled()), (Some(4), 5));
    let mut state = messages.reader().watch();
    state.wait_for(|state| matches!(state, ReaderState::Ended(ReaderEnd::Sealed))).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_window_holds_for_a_loop_of_ones_own() {
    let server = Server::holding(10, 100);
    let mut messages = messages(&server, options(StartAt::First)).await;
    let mut held = Vec::new();
    for _ in 0..10 {
        held.push(messages.next().await.unwrap().unwrap());
    }
    let eleventh = tokio::time::timeout(Duration::from_secs(600), messages.next()).await;
    assert!(eleventh.is_err(), "there are ten out");
    held.remove(0).done().await;
    assert_eq!(messages.next().await.unwrap().unwrap().offset(), 20, "giving up the wait lost nothing");
}

#[tokio::test(start_paused = true)]
async fn an_entry_that_is_failed_dropped_or_does_not_decode_stops_the_loop() {
    let server = Server::holding(5, 9);
    for how in ["fail", "drop", "decode"] {
        let mut messages = messages(&server, options(StartAt::First)).await;
        let first = messages.next().await.unwrap().unwrap();
        let second = messages.next().await.unwrap().unwrap();
        match how {
            "fail" => second.fail("no luck").await,
            "drop" => drop(second),
            _ => second.done().await,
        }
        // The first is still held: the loop learns of the end all the same.
        let error = messages.next().await.unwrap().err().unwrap();
        let expected = if how == "decode" { 7 } else { 6 };
        let stopped = |end: &ReaderEnd| end.offset() == Some(expected);
        assert!(matches!(&error, crate::Error::ReaderStopped(end) if stopped(end)), "{how}: {error}");
        assert!(messages.next().await.is_none(), "it is said once");
        first.done().await;
        assert_eq!(messages.reader().failed(), 1, "{how}");
    }
}
