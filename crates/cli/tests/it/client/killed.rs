//! A node that is killed and restarted under readers of each start position and a producer, all at work at once.

use std::time::{Duration, SystemTime};

use kelda_client::{Kelda, Reader, RetryPolicy, StartAt, Text};

use super::{Count, Seen, World, load, noting, until};

const HELD: u64 = 50;
const ALL: u64 = 3_050;
const KILLS: u64 = 4;

/// What one reader was given, in the order of the ends of its handlers.
async fn start(kelda: &Kelda, start: StartAt, concurrency: usize) -> (Reader, Seen) {
    let seen = Seen::default();
    let stream = kelda.stream::<String>("events").codec(Text).from(start).concurrency(concurrency);
    (stream.consume(noting(&seen)).await.unwrap(), seen)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_record_is_there_once_for_each_reader_and_in_its_place() {
    let mut world = World::new();
    world.filled("events", 20).await;
    tokio::time::sleep(Duration::from_millis(10)).await;
    let moment = SystemTime::now();
    tokio::time::sleep(Duration::from_millis(10)).await;
    world.fill("events", 20..HELD).await;
    let pauses = RetryPolicy::forever().pauses(Duration::from_millis(1), Duration::from_millis(20));
    let kelda = Kelda::builder(&world.node.endpoint()).reconnect(pauses).build().unwrap();
    let mut readers = Vec::new();
    for (at, first) in [
        (StartAt::First, 0),
        (StartAt::Last, HELD - 1),
        (StartAt::Next, HELD),
        (StartAt::Offset(7), 7),
        (StartAt::Offset(HELD), HELD),
        (StartAt::time(moment), 20),
        (StartAt::Back(Duration::from_secs(3_600)), 0),
    ] {
        for concurrency in [1, 4] {
            readers.push((at, first, concurrency, start(&kelda, at, concurrency).await));
        }
    }
    let acknowledged = Count::default();
    let producer = kelda.producer::<str>("events").codec(Text).batch_records(20).open().await.unwrap();
    let writing = tokio::spawn(load(producer, HELD..ALL, acknowledged.clone()));
    for kill in 1..=KILLS {
        until("the load goes on", || acknowledged.get() >= kill * 500).await;
        world.node.kill();
        tokio::time::sleep(Duration::from_millis(40 * kill)).await;
        world.node.restart();
    }
    writing.await.unwrap();
    until("each receipt was right", || acknowledged.get() == ALL - HELD).await;
    assert_eq!(world.kelda.head("events").await.unwrap().next_offset, ALL, "nothing was stored twice");
    for (at, first, concurrency, (reader, seen)) in readers {
        let what = format!("{at:?}, {concurrency} at once");
        until(&what, || reader.last_handled_offset() == Some(ALL - 1)).await;
        assert_eq!((reader.handled(), reader.failed()), (ALL - first, 0), "{what}");
        let mut seen = seen.lock().unwrap().clone();
        if concurrency > 1 {
            seen.sort_unstable();
        }
        seen.dedup();
        assert_eq!(seen, (first..ALL).collect::<Vec<_>>(), "{what}");
    }
}
