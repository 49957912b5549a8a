//! Streams that change under a reader at work, and very large windows.

use std::time::{Duration, SystemTime};

use kelda_client::{Error, Message, ReaderEnd, StreamLimits, Text};

use super::{World, text, until};

#[tokio::test]
async fn a_stream_that_is_deleted_and_created_anew_ends_its_readers() {
    let world = World::new();
    world.filled("events", 3).await;
    let stream = || world.kelda.stream::<String>("events").codec(Text).from_first();
    let at_the_tail = stream().consume(|_| async {}).await.unwrap();
    let (go, wait) = tokio::sync::watch::channel(false);
    let slow = move |_: Message<String>| {
        let mut wait = wait.clone();
        async move { drop(wait.wait_for(|go| *go).await.unwrap()) }
    };
    let at_work = stream().prefetch(1).consume(slow).await.unwrap();
    until("all", || at_the_tail.handled() == 3).await;
    world.kelda.delete("events").await.unwrap();
    world.filled("events", 30).await;
    go.send_replace(true);
    // The first may have learned of the deletion before there was a new one.
    let end = at_the_tail.join().await;
    assert!(matches!(&end, ReaderEnd::Error(_)), "{end}");
    let end = at_work.join().await;
    assert!(matches!(&end, ReaderEnd::Error(Error::StreamChanged { .. })), "{end}");
}

#[tokio::test]
async fn a_stream_that_expires_ends_its_readers() {
    let world = World::new();
    let soon = SystemTime::now() + Duration::from_secs(4);
    world.kelda.declare_stream("events", text().expires_at(soon)).await.unwrap();
    let reader = world.kelda.stream::<String>("events").codec(Text).from_first();
    let reader = reader.consume(|_| async {}).await.unwrap();
    world.fill("events", 0..3).await;
    until("all", || reader.handled() == 3).await;
    let end = reader.join().await;
    assert!(matches!(&end, ReaderEnd::Error(Error::Problem(_))), "{end}");
}

#[tokio::test]
async fn copies_that_have_nowhere_to_go_any_more_stop_the_reader() {
    for anew in [None, Some("application/json"), Some("text/plain")] {
        let world = World::new();
        world.filled("events", 3).await;
        let (go, wait) = tokio::sync::watch::channel(false);
        let failing = move |message: Message<String>| {
            let mut wait = wait.clone();
            async move {
                drop(wait.wait_for(|go| *go).await.unwrap());
                if message.offset() == 1 { Err("no luck") } else { Ok(()) }
            }
        };
        let stream = world.kelda.stream::<String>("events").codec(Text).from_first();
        let reader = stream.skip_failures().consume(failing).await.unwrap();
        world.kelda.delete("events.dlq").await.unwrap();
        if let Some(content_type) = anew {
            let limits = StreamLimits::new().max_bytes(1 << 40).content_type(content_type);
            world.kelda.declare_stream("events.dlq", limits).await.unwrap();
        }
        go.send_replace(true);
        if anew.is_some() {
            // The body of the copy, `1`, is sound JSON too: a stream that takes it is as good as the one before.
            until("all", || reader.last_handled_offset() == Some(2)).await;
            assert_eq!((reader.handled(), reader.skipped()), (2, 1), "{anew:?}");
            assert_eq!(world.kelda.head("events.dlq").await.unwrap().next_offset, 1);
            continue;
        }
        let mut state = reader.watch();
        state.wait_for(|state| !state.is_active()).await.unwrap();
        assert_eq!((reader.last_handled_offset(), reader.skipped()), (Some(0), 0));
        let end = reader.join().await;
        let missing = |error: &Error| error.code() == Some("not-found");
        assert!(matches!(&end, ReaderEnd::DeadLetter { offset: 1, error, .. } if missing(error)), "{end}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_window_beyond_the_limit_of_a_page_is_filled_by_several() {
    let world = World::new();
    world.filled("events", 25_000).await;
    world.kelda.seal("events").await.unwrap();
    let stream = world.kelda.stream::<String>("events").codec(Text).from_first();
    let mut messages = stream.prefetch(30_000).messages().await.unwrap();
    let mut held = Vec::new();
    while let Some(message) = messages.next().await {
        held.push(message.unwrap());
    }
    assert!(held.iter().map(|message| message.offset()).eq(0..25_000), "all are out at once");
    for message in held {
        message.done().await;
    }
    assert_eq!(messages.reader().last_handled_offset(), Some(24_999));
}
