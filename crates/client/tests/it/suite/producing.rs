//! Records on their way to a stream.

use std::collections::BTreeSet;

use kelda_client::{BatchBuilder, Error, Headers, Outgoing, Text};

use super::{Over, World, limits, texts};

pub async fn results_come_in_order(world: World) {
    world.direct.declare_stream(&world.stream, limits()).await.unwrap();
    let producer = world.kelda.producer::<str>(&world.stream).codec(Text).open().await.unwrap();
    let mut sent = Vec::new();
    for number in 0..3_000 {
        sent.push(producer.send(&number.to_string()).await.unwrap());
    }
    for (sent, number) in sent.into_iter().zip(0..) {
        let receipt = sent.await.unwrap();
        assert_eq!(receipt.offset, if world.over.is_amqp() { None } else { Some(number) });
    }
    producer.close().await.unwrap();
    assert_eq!(world.held(&world.stream, "2999").await, texts(0..3_000));
}

/// A record whose confirm was lost is stored once on Kelda; on RabbitMQ its outcome is unknown, and it is not sent again.
pub async fn a_lost_connection_repeats_nothing(world: World) {
    world.direct.declare_stream(&world.stream, limits()).await.unwrap();
    let producer =
        world.kelda.producer::<str>(&world.stream).codec(Text).batch_records(50).open().await.unwrap();
    let mut confirmed = Vec::new();
    let mut unknown = 0;
    for round in 0..20_u64 {
        let mut sent = Vec::new();
        for number in 0..100 {
            sent.push(producer.send(&(round * 100 + number).to_string()).await.unwrap());
        }
        for (sent, number) in sent.into_iter().zip(0..) {
            // Some are confirmed by then, some are on their way, some were not sent.
            if number == 5 * round {
                (world.cut)();
            }
            let number = 100 * round + number;
            match sent.await {
                Ok(_) => confirmed.push(number.to_string()),
                Err(error) if world.over == Over::RabbitMq => {
                    assert!(matches!(error, Error::OutcomeUnknown { .. }), "{error}");
                    unknown += 1;
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
    producer.close().await.ok();
    world.fill(999_999..1_000_000).await;
    let mut held = world.held(&world.stream, "999999").await;
    held.pop();
    let once: BTreeSet<&String> = held.iter().collect();
    assert_eq!(once.len(), held.len(), "none is there twice");
    if world.over != Over::RabbitMq {
        assert_eq!(held, texts(0..2_000), "all, in order");
    }
    assert!(confirmed.iter().all(|text| held.contains(text)), "all that was confirmed is there");
    assert!(confirmed.len() + unknown == 2_000 && held.len() <= 2_000);
}

pub async fn conditions_and_whole_batches_are_for_http(world: World) {
    world.direct.declare_stream(&world.stream, limits()).await.unwrap();
    let producer = world.kelda.producer::<str>(&world.stream).codec(Text).open().await.unwrap();
    let at = producer.send_at(0, Outgoing::new("a")).await.map(drop);
    let batch = |bodies: &[&str]| {
        let mut batch = BatchBuilder::new();
        for body in bodies {
            batch.push(body.as_bytes(), &Headers::none(), None).unwrap();
        }
        batch.finish()
    };
    let whole = producer.send_batch(batch(&["b", "c"])).await.map(drop);
    for outcome in [at, whole] {
        let said = matches!(&outcome, Err(Error::Unsupported { .. }));
        assert_eq!(said, world.over.is_amqp(), "{outcome:?}");
    }
    producer.send_batch(batch(&["d"])).await.unwrap().await.unwrap();
}

/// A fixed id needs a server that tells repetitions.
pub async fn an_id_needs_a_server_that_knows_it(world: World) {
    world.direct.declare_stream(&world.stream, limits()).await.unwrap();
    let opened = world.kelda.producer::<str>(&world.stream).codec(Text).id("billing").epoch(1).open().await;
    match (world.over, opened) {
        (Over::RabbitMq, Err(Error::Unsupported { .. })) => {}
        (Over::Http | Over::Kelda, Ok(producer)) => {
            producer.send("a").await.unwrap().await.unwrap();
            assert_eq!((producer.id(), producer.epoch()), (Some("billing"), 1));
        }
        (over, opened) => panic!("{over:?}: {:?}", opened.map(drop)),
    }
}

/// A run with an epoch that another has used is told so, and nothing of it is taken for stored, nor stored.
pub async fn an_epoch_that_was_used_is_refused(world: World) {
    if world.over == Over::RabbitMq {
        return;
    }
    world.direct.declare_stream(&world.stream, limits()).await.unwrap();
    let producer = || world.kelda.producer::<str>(&world.stream).codec(Text).id("billing").epoch(1).open();
    let first = producer().await.unwrap();
    first.send("0").await.unwrap().await.unwrap();
    first.close().await.unwrap();
    // One with less than the first, and one with more.
    for records in [1, 30] {
        let second = producer().await.unwrap();
        let mut sent = Vec::new();
        for number in 0..records {
            sent.push(second.send(&format!("again {number}")).await.unwrap());
        }
        for sent in sent {
            let error = sent.await.unwrap_err();
            assert!(matches!(error, Error::Invalid { what: "producer epoch", .. }), "{error}");
        }
    }
    world.fill(1..2).await;
    assert_eq!(world.held(&world.stream, "1").await, ["0", "1"]);
    // A higher one is not refused, and a lower one is fenced.
    let producer = |epoch| world.kelda.producer::<str>(&world.stream).codec(Text).id("billing").epoch(epoch);
    let third = producer(3).open().await.unwrap();
    third.send("2").await.unwrap().await.unwrap();
    let fenced = producer(2).open().await.unwrap().send("no").await.unwrap().await.unwrap_err();
    assert!(matches!(fenced, Error::Fenced { epoch: 2, current: 3, .. }), "{fenced}");
    assert_eq!(world.held(&world.stream, "2").await, ["0", "1", "2"]);
}

/// A stream that was deleted and made again is another one: nothing of its predecessor's producers comes into it.
pub async fn a_replaced_stream_ends_its_producers(world: World) {
    world.direct.declare_stream(&world.stream, limits()).await.unwrap();
    for idempotent in [true, false] {
        let producer = world.kelda.producer::<str>(&world.stream).codec(Text).idempotent(idempotent);
        let producer = producer.open().await.unwrap();
        producer.send("0").await.unwrap().await.unwrap();
        world.direct.delete(&world.stream).await.unwrap();
        world.direct.declare_stream(&world.stream, limits()).await.unwrap();
        let outcome = producer.send("1").await.unwrap().await;
        match world.over {
            // Nothing tells one stream from the other.
            Over::RabbitMq => drop(outcome.unwrap()),
            _ => assert!(matches!(outcome, Err(Error::StreamChanged { .. })), "{:?}", outcome.map(drop)),
        }
    }
    world.fill(7..8).await;
    let held = world.held(&world.stream, "7").await;
    assert_eq!(held, if world.over == Over::RabbitMq { vec!["1", "7"] } else { vec!["7"] });
    // And one that is deleted is no longer there.
    let producer = world.kelda.producer::<str>(&world.stream).codec(Text).open().await.unwrap();
    world.direct.delete(&world.stream).await.unwrap();
    let error = producer.send("8").await.unwrap().await.unwrap_err();
    assert_eq!(error.code(), Some("not-found"), "{error}");
}
