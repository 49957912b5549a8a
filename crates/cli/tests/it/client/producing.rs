//! Producers: fencing, conditions, and what is stored.

use futures::StreamExt;
use kelda_client::{Diagnostic, Error, Outgoing, StreamLimits, Text, limits};

use super::{World, text};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_records_in_order_with_their_offsets() {
    let world = World::new();
    world.kelda.declare_stream("events", text()).await.unwrap();
    for idempotent in [true, false] {
        let first = world.kelda.head("events").await.unwrap().next_offset;
        let builder = world.kelda.producer::<str>("events").codec(Text).idempotent(idempotent);
        let producer = builder.batch_records(300).open().await.unwrap();
        let mut sent = Vec::new();
        for number in 0..5_000_u64 {
            sent.push(producer.send(&number.to_string()).await.unwrap());
        }
        producer.flush().await.unwrap();
        for (index, sent) in sent.into_iter().enumerate() {
            assert_eq!(sent.await.unwrap().offset, Some(first + index as u64));
        }
        producer.close().await.unwrap();
    }
    assert_eq!(world.kelda.head("events").await.unwrap().next_offset, 10_000);
}

#[tokio::test]
async fn a_newer_run_of_an_id_fences_the_older() {
    let world = World::new();
    world.kelda.declare_stream("events", text()).await.unwrap();
    let open = || world.kelda.producer::<str>("events").codec(Text).id("writer").open();
    let older = open().await.unwrap();
    older.send("1").await.unwrap().await.unwrap();
    let newer = open().await.unwrap();
    assert!(newer.epoch() > older.epoch());
    newer.send("2").await.unwrap().await.unwrap();
    let error = older.send("3").await.unwrap().await.unwrap_err();
    let fenced = |error: &Error| matches!(error, Error::Fenced { current, .. } if *current == newer.epoch());
    assert!(fenced(&error), "{error}");
    assert!(fenced(&older.send("4").await.err().unwrap()));
    assert!(fenced(&older.close().await.unwrap_err()));
    newer.send("5").await.unwrap().await.unwrap();
    newer.close().await.unwrap();
    // Claiming wrote nothing.
    assert_eq!(world.kelda.head("events").await.unwrap().next_offset, 3);

    // A run that is given an epoch that another has used acknowledges nothing.
    let epoch = 1 << 40;
    let with_epoch = || world.kelda.producer::<str>("events").codec(Text).id("writer").epoch(epoch).open();
    with_epoch().await.unwrap().send("6").await.unwrap().await.unwrap();
    let error = with_epoch().await.unwrap().send("7").await.unwrap().await.unwrap_err();
    assert!(matches!(error, Error::Invalid { what: "producer epoch", .. }), "{error}");
}

#[tokio::test]
async fn an_append_at_an_offset_is_done_there_or_not_at_all() {
    let world = World::new();
    world.filled("events", 3).await;
    let producer = world.kelda.producer::<str>("events").codec(Text).open().await.unwrap();
    let wrong = producer.send_at(2, Outgoing::new("no")).await.unwrap_err();
    assert_eq!(wrong.code(), Some("match-offset"), "{wrong}");
    assert_eq!(producer.send_at(3, Outgoing::new("yes")).await.unwrap().offset, Some(3));
    assert_eq!(producer.send("after").await.unwrap().await.unwrap().offset, Some(4));
    producer.close().await.unwrap();
}

#[tokio::test]
async fn what_stands_in_the_way_is_said_by_its_kind() {
    let world = World::new();
    let missing = world.kelda.producer::<str>("missing").open().await.err().unwrap();
    assert_eq!(missing.code(), Some("not-found"), "{missing}");
    world.filled("events", 1).await;
    let producer = world.kelda.producer::<str>("events").codec(Text).open().await.unwrap();
    world.kelda.delete("events").await.unwrap();
    world.kelda.declare_stream("events", StreamLimits::new()).await.unwrap();
    let changed = producer.send("x").await.unwrap().await.unwrap_err();
    assert!(matches!(changed, Error::StreamChanged { .. }), "{changed}");
    world.kelda.seal("events").await.unwrap();
    let producer = world.kelda.producer::<str>("events").codec(Text).open().await.unwrap();
    let sealed = producer.send("x").await.unwrap().await.unwrap_err();
    assert_eq!(sealed.code(), Some("sealed"), "{sealed}");
    for wrong in [
        world.kelda.producer::<str>("events").id(""),
        world.kelda.producer::<str>("events").id("a b"),
        world.kelda.producer::<str>("events").window(9),
        world.kelda.producer::<str>("events").batch_records(0),
        world.kelda.producer::<str>("events").id("a").epoch(1 << 53),
        world.kelda.producer::<str>("events").id("a").idempotent(false),
    ] {
        let error = wrong.open().await.err().unwrap();
        assert!(matches!(error, Error::Invalid { .. }), "{error}");
    }
}

/// A server remembers 10,000 producers of a stream: as many others push out the one that is idle for longest.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_producer_that_the_server_has_forgotten_goes_on_or_says_why_not() {
    let world = World::new();
    world.kelda.declare_stream("events", text()).await.unwrap();
    let producer = world.kelda.producer::<str>("events").codec(Text).open().await.unwrap();
    let fixed = world.kelda.producer::<str>("events").codec(Text).id("writer").open().await.unwrap();
    for number in ["0", "1"] {
        producer.send(number).await.unwrap().await.unwrap();
        fixed.send(number).await.unwrap().await.unwrap();
    }
    let others =
        futures::stream::iter(0..limits::MAX_PRODUCERS_PER_STREAM).for_each_concurrent(200, |other| {
            let producer =
                world.kelda.producer::<str>("events").codec(Text).id(format!("other-{other}")).epoch(0);
            async move {
                producer.open().await.unwrap().send("x").await.unwrap().await.unwrap();
            }
        });
    others.await;
    let mut diagnostics = world.kelda.diagnostics();
    let (tail, epoch) = (world.kelda.head("events").await.unwrap().next_offset, producer.epoch());
    for number in 0..3 {
        let receipt = producer.send("again").await.unwrap().await.unwrap();
        assert_eq!((receipt.offset, receipt.duplicate), (Some(tail + number), false));
    }
    assert_eq!(producer.epoch(), epoch + 1);
    let renewed = Diagnostic::ProducerRenewed { stream: "events".to_owned(), epoch: epoch + 1 };
    assert_eq!(diagnostics.try_next(), Some(renewed));
    let error = fixed.send("again").await.unwrap().await.unwrap_err();
    let forgotten = |error: &Error| matches!(error, Error::ProducerForgotten { outcome_unknown: false, .. });
    assert!(forgotten(&error), "{error}");
    assert_eq!(world.kelda.head("events").await.unwrap().next_offset, tail + 3);
}
