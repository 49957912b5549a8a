//! Lost connections at every step, and a node that is killed.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use kelda_client::{Kelda, Message, Reader, ReaderBuilder, RetryPolicy, Text};

use super::proxy::{Harm, Proxy};
use super::{Count, World, load, text, until};

/// A client that notices a silent server soon.
fn hasty(endpoint: &str) -> Kelda {
    let pauses = RetryPolicy::forever().pauses(Duration::from_millis(1), Duration::from_millis(20));
    let builder =
        Kelda::builder(endpoint).reconnect(pauses).retry(RetryPolicy::within(Duration::from_secs(60)));
    let limit = Duration::from_secs(1);
    builder.answer_timeout(limit).idle_timeout(limit).live_timeout(Duration::from_secs(30)).build().unwrap()
}

/// Which numbers were handled, in the order of the ends of their handlers.
type Seen = Arc<Mutex<Vec<u64>>>;

async fn start(builder: ReaderBuilder<String, Text>, seen: &Seen) -> Reader {
    let seen = Arc::clone(seen);
    let handler = move |message: Message<String>| {
        let seen = Arc::clone(&seen);
        async move {
            tokio::task::yield_now().await;
            seen.lock().unwrap().push(message.payload().parse().unwrap());
        }
    };
    builder.consume(handler).await.unwrap()
}

/// Whether each number is there, and, with one handler, in order.
fn check(seen: &Seen, numbers: std::ops::Range<u64>, ordered: bool) {
    let mut seen = seen.lock().unwrap().clone();
    if !ordered {
        seen.sort_unstable();
    }
    seen.dedup();
    assert_eq!(seen, numbers.collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_survives_a_connection_that_ends_at_any_step() {
    let world = World::new();
    let proxy = Proxy::start(&world.node.endpoint()).await;
    world.filled("events", 40).await;
    let kelda = hasty(&proxy.endpoint());
    // From before the request is whole to the middle of the records.
    let mut harms = vec![Harm::Closed];
    harms.extend([1, 30, 100, 150, 200].map(Harm::CutRequest));
    harms.extend([0, 1, 9, 17, 60, 150, 300, 400, 500, 600, 700, 900].map(Harm::CutReply));
    harms.extend([0, 20, 300, 600].map(Harm::StallReply));
    for concurrency in [1, 4] {
        for harm in &harms {
            let seen = Seen::default();
            let times = if matches!(harm, Harm::StallReply(_)) { 1 } else { 3 };
            proxy.plan(std::iter::repeat_n(*harm, times));
            let stream = kelda.stream::<String>("events").codec(Text).from_first();
            let reader = start(stream.prefetch(16).concurrency(concurrency), &seen).await;
            until(&format!("all, {harm:?}"), || reader.last_handled_offset() == Some(39)).await;
            assert_eq!((reader.handled(), reader.failed()), (40, 0), "{harm:?}");
            check(&seen, 0..40, concurrency == 1);
            reader.stop().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_at_the_tail_loses_nothing_that_is_written_while_it_is_away() {
    let world = World::new();
    let proxy = Proxy::start(&world.node.endpoint()).await;
    world.filled("events", 5).await;
    let kelda = hasty(&proxy.endpoint());
    let seen = Seen::default();
    // The first connections see the subscription through, and end at the tail.
    proxy.plan([
        Harm::CutReply(1_100),
        Harm::CutReply(1_500),
        Harm::Closed,
        Harm::CutRequest(10),
        Harm::CutReply(700),
    ]);
    let reader = start(kelda.stream::<String>("events").codec(Text).from_next(), &seen).await;
    for round in 1..40 {
        world.fill("events", round * 5..(round + 1) * 5).await;
    }
    until("all", || reader.last_handled_offset() == Some(199)).await;
    assert_eq!(reader.handled(), 195);
    assert!(proxy.is_done(), "each harm was met");
    check(&seen, 5..200, true);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_producer_neither_loses_nor_repeats_over_lost_connections() {
    let world = World::new();
    let proxy = Proxy::start(&world.node.endpoint()).await;
    world.kelda.declare_stream("events", text()).await.unwrap();
    let kelda = hasty(&proxy.endpoint());
    let mut expected = 0;
    for harm in [
        Harm::Closed,
        Harm::CutRequest(50),
        Harm::CutRequest(900),
        Harm::CutReply(0),
        Harm::CutReply(40),
        Harm::StallReply(0),
    ] {
        let builder = kelda.producer::<str>("events").codec(Text).batch_records(20).window(4);
        let producer = builder.open().await.unwrap();
        proxy.plan([harm, Harm::None, harm, harm, Harm::None, harm]);
        let mut sent = Vec::new();
        for number in expected..expected + 200 {
            sent.push((number, producer.send(&number.to_string()).await.unwrap()));
            if number % 20 == 0 {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        }
        for (number, sent) in sent {
            assert_eq!(sent.await.unwrap().offset, Some(number), "{harm:?}");
        }
        producer.close().await.unwrap();
        expected += 200;
    }
    let seen = Seen::default();
    let reader = start(world.kelda.stream::<String>("events").codec(Text).from_first(), &seen).await;
    until("all", || reader.handled() == expected).await;
    check(&seen, 0..expected, true);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_and_a_producer_live_through_kill_9() {
    let mut world = World::new();
    world.kelda.declare_stream("events", text()).await.unwrap();
    let kelda = hasty(&world.node.endpoint());
    let (ordered, unordered, acknowledged) = (Seen::default(), Seen::default(), Count::default());
    let stream = || kelda.stream::<String>("events").codec(Text);
    let first = start(stream().from_next(), &ordered).await;
    let second = start(stream().from_first().concurrency(6), &unordered).await;
    let producer = kelda.producer::<str>("events").codec(Text).batch_records(50).open().await.unwrap();
    let writing = tokio::spawn(load(producer, 0..6_000, acknowledged.clone()));
    for round in 1..6 {
        let target = round * 900;
        until("the load goes on", || acknowledged.get() >= target).await;
        world.node.kill();
        tokio::time::sleep(Duration::from_millis(50 * round)).await;
        world.node.restart();
    }
    writing.await.unwrap();
    for reader in [&first, &second] {
        until("all", || reader.last_handled_offset() == Some(5_999)).await;
        assert_eq!((reader.handled(), reader.failed()), (6_000, 0));
    }
    check(&ordered, 0..6_000, true);
    check(&unordered, 0..6_000, false);
    assert_eq!(world.kelda.head("events").await.unwrap().next_offset, 6_000, "nothing was stored twice");
}
