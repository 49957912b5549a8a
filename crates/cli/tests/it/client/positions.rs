//! Where readers start and resume.

use std::time::{Duration, SystemTime};

use kelda_client::{
    EndAt, Error, FileCheckpoint, Kelda, Message, OnGap, ReaderBuilder, ReaderEnd, SaveEvery, StreamLimits,
    Text, Timestamp,
};
use tokio::sync::mpsc;

use super::{World, until};

type Builder = ReaderBuilder<String, Text>;

fn reader(kelda: &Kelda, name: &str) -> Builder {
    kelda.stream::<String>(name).codec(Text)
}

/// What a reader is given until the sealed end.
async fn all(builder: Builder) -> Vec<u64> {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let note = move |message: Message<String>| {
        let sent = sender.send(message.payload().parse().unwrap());
        async move { sent.map_err(|error| error.to_string()) }
    };
    let reader = builder.consume(note).await.unwrap();
    let end = reader.join().await;
    assert!(matches!(end, ReaderEnd::Sealed), "{end}");
    let mut given = Vec::new();
    while let Ok(number) = receiver.try_recv() {
        given.push(number);
    }
    given
}

#[tokio::test]
async fn each_start_begins_where_it_says() {
    let world = World::new();
    let kelda = &world.kelda;
    world.filled("events", 250).await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    let between = SystemTime::now();
    tokio::time::sleep(Duration::from_millis(20)).await;
    world.fill("events", 250..300).await;
    kelda.seal("events").await.unwrap();
    let events = || reader(kelda, "events");
    let from = |first: u64| (first..300).collect::<Vec<_>>();
    assert_eq!(all(events().from_first()).await, from(0));
    assert_eq!(all(events().from_first().prefetch(1)).await, from(0));
    assert_eq!(all(events().from_first().prefetch(5_000)).await, from(0));
    assert_eq!(all(events().from_last()).await, from(299));
    assert_eq!(all(events().from_next()).await, from(300));
    assert_eq!(all(events()).await, from(300), "next is the default");
    assert_eq!(all(events().from_offset(123)).await, from(123));
    assert_eq!(all(events().from_offset(300)).await, from(300));
    assert_eq!(all(events().from_time(between)).await, from(250));
    assert_eq!(all(events().from_last_for(Duration::from_secs(3_600))).await, from(0));
    let mut unordered = all(events().from_first().concurrency(8)).await;
    unordered.sort_unstable();
    assert_eq!(unordered, from(0));

    let past = events().from_offset(301).consume(|_| async {}).await.unwrap_err();
    assert_eq!(past.code(), Some("offset-past-tail"), "{past}");
    for (wrong, what) in [
        (events().prefetch(0), "prefetch"),
        (events().concurrency(0), "concurrency"),
        (events().prefetch(3).concurrency(4), "concurrency"),
    ] {
        let error = wrong.consume(|_| async {}).await.unwrap_err();
        assert!(matches!(error, Error::Invalid { what: found, .. } if found == what), "{error}");
    }
    let missing = reader(kelda, "missing").consume(|_| async {}).await.unwrap_err();
    assert_eq!(missing.code(), Some("not-found"), "{missing}");
}

#[tokio::test]
async fn next_misses_nothing_that_is_written_after_it_subscribed() {
    let world = World::new();
    world.filled("events", 10).await;
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let note = move |message: Message<String>| {
        let sent = sender.send(message.offset());
        async move { sent.map_err(|error| error.to_string()) }
    };
    let reader = reader(&world.kelda, "events").consume(note).await.unwrap();
    world.fill("events", 10..30).await;
    until("all", || reader.handled() == 20).await;
    for offset in 10..30 {
        assert_eq!(receiver.recv().await, Some(offset));
    }
    assert!(matches!(reader.stop().await, ReaderEnd::Stopped));
}

#[tokio::test]
async fn what_is_gone_is_a_gap() {
    let world = World::new();
    world.filled("events", 20).await;
    world.kelda.trim("events", 15, None).await.unwrap();
    let error = reader(&world.kelda, "events").from_offset(3).consume(|_| async {}).await.unwrap_err();
    assert!(matches!(error, Error::Gap { from: 3, to: 15, .. }), "{error}");
    let behind = reader(&world.kelda, "events").from_offset(3).on_gap(OnGap::Continue);
    let behind = behind.consume(|_| async {}).await.unwrap();
    until("the rest", || behind.last_handled_offset() == Some(19)).await;
    assert_eq!(behind.handled(), 5);
}

#[tokio::test]
async fn a_checkpoint_goes_on_where_the_run_before_stopped() {
    let world = World::new();
    let directory = tempfile::tempdir().unwrap();
    world.filled("events", 100).await;
    let resuming = || {
        let checkpoint = FileCheckpoint::new(directory.path());
        reader(&world.kelda, "events").from_first().resume_with(checkpoint, "projection")
    };
    // The first run fails at an entry; the second gets it again, and nothing before it.
    let failing = |message: Message<String>| async move {
        if message.offset() == 42 { Err("no luck") } else { Ok(()) }
    };
    let end = resuming().consume(failing).await.unwrap().join().await;
    assert_eq!(end.offset(), Some(42), "{end}");
    let second = resuming().save_every(SaveEvery::entries(10)).consume(|_| async {}).await.unwrap();
    until("the rest", || second.last_handled_offset() == Some(99)).await;
    assert_eq!(second.handled(), 58);
    second.stop().await;
    world.fill("events", 100..110).await;
    let third = resuming().consume(|_| async {}).await.unwrap();
    until("what is new", || third.last_handled_offset() == Some(109)).await;
    assert_eq!(third.handled(), 10);
    third.stop().await;
    // Another stream of the name is no place to go on.
    world.kelda.delete("events").await.unwrap();
    world.kelda.declare_stream("events", StreamLimits::new()).await.unwrap();
    let error = resuming().consume(|_| async {}).await.unwrap_err();
    assert!(matches!(error, Error::StreamChanged { .. }), "{error}");
}

#[tokio::test]
async fn a_stream_that_is_deleted_under_a_reader_ends_it() {
    let world = World::new();
    world.filled("events", 3).await;
    let reader = reader(&world.kelda, "events").from_first().consume(|_| async {}).await.unwrap();
    until("all", || reader.handled() == 3).await;
    world.kelda.delete("events").await.unwrap();
    let end = reader.join().await;
    assert!(matches!(&end, ReaderEnd::Error(_)), "{end}");
}

/// What a reader is given until it ends where it was to.
async fn reached(builder: Builder) -> Vec<u64> {
    let mut messages = builder.messages().await.unwrap();
    let mut given = Vec::new();
    while let Some(message) = messages.next().await {
        let message = message.unwrap();
        given.push(message.payload().parse().unwrap());
        message.done().await;
    }
    let end = messages.stop().await;
    assert!(matches!(end, ReaderEnd::Reached), "{end}");
    given
}

#[tokio::test]
async fn a_reader_ends_where_it_was_told_to() {
    let world = World::new();
    world.filled("events", 250).await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    let between = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    tokio::time::sleep(Duration::from_millis(20)).await;
    world.fill("events", 250..300).await;
    let between = EndAt::Time(Timestamp(u64::try_from(between.as_millis()).unwrap()));
    let events = || reader(&world.kelda, "events");
    let numbers = |range: std::ops::Range<u64>| range.collect::<Vec<_>>();
    // Pages that end before, at and behind the end.
    for prefetch in [1, 7, 100, 1_000] {
        let first = || events().from_first().prefetch(prefetch);
        assert_eq!(reached(first().until(EndAt::Offset(100))).await, numbers(0..100), "{prefetch}");
        assert_eq!(reached(first().until(between)).await, numbers(0..250), "{prefetch}");
        assert_eq!(reached(first().until_tail()).await, numbers(0..300), "{prefetch}");
    }
    assert_eq!(reached(events().from_tail(3).until_tail()).await, numbers(297..300));
    assert_eq!(reached(events().from_tail(1_000).until(EndAt::Offset(2)).until_tail()).await, [0, 1]);
    assert_eq!(reached(events().from_offset(9).until(EndAt::Offset(4))).await, [0; 0]);
    assert_eq!(reached(events().until_tail()).await, [0; 0]);
    // An end that is still to come is waited for.
    let later = tokio::spawn(reached(events().until(EndAt::Offset(305))));
    tokio::time::sleep(Duration::from_millis(50)).await;
    world.fill("events", 300..310).await;
    let given = later.await.unwrap();
    assert!(given.ends_with(&[304]), "{given:?}");
}
