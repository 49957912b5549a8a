//! Entries that cannot be handled.

use kelda_client::envelope::dead;
use kelda_client::{FailureCause, Message, Outgoing, ReaderEnd, StreamLimits, Text, Value};

use super::{Seen, World, limits, texts, until};

async fn unlucky(message: Message<String>, seen: Seen) -> Result<(), String> {
    seen.add(message.payload());
    if matches!(message.payload().as_str(), "2" | "4") {
        return Err(format!("{} has no luck", message.payload()));
    }
    Ok(())
}

/// Nothing is retried, nothing is moved, nothing is appended.
pub async fn a_failure_stops_at_that_entry(world: World) {
    world.filled(6).await;
    let seen = Seen::default();
    let stream = world.kelda.stream::<String>(&world.stream).codec(Text).from_first();
    let handler = seen.clone();
    let reader = stream.consume(move |message| unlucky(message, handler.clone())).await.unwrap();
    until("it stopped", || !reader.is_active()).await;
    assert_eq!((reader.handled(), reader.failed(), reader.skipped()), (2, 1, 0));
    let position = reader.last_handled_offset().unwrap();
    let end = reader.join().await;
    let ReaderEnd::Failed { offset, cause: FailureCause::Handler(_) } = &end else { panic!("{end}") };
    assert_eq!(*offset, position + 1);
    assert_eq!(seen.list(), texts(0..3));
    assert_eq!(world.held(&world.stream, "5").await, texts(0..6));
    // And from there it is given again.
    let stream = world.kelda.stream::<String>(&world.stream).codec(Text).from_offset(*offset);
    let again = seen.clone();
    let reader = stream.consume(move |message: Message<String>| {
        again.add(message.payload());
        async {}
    });
    let reader = reader.await.unwrap();
    until("the rest", || reader.handled() == 4).await;
    assert_eq!(seen.list()[3..], texts(2..6));
}

/// Each copy has the body and the headers of its original, and says where that is.
pub async fn skipping_puts_copies_beside_the_stream(world: World) {
    world.filled(2).await;
    let producer = world.direct.producer::<str>(&world.stream).codec(Text).open().await.unwrap();
    for body in ["2", "3", "4", "5"] {
        let message = Outgoing::new(body).header("kind", "order").header("attempt", 7_i32).message_id("m");
        producer.send_message(message).await.unwrap().await.unwrap();
    }
    let seen = Seen::default();
    let stream = world.kelda.stream::<String>(&world.stream).codec(Text).from_first();
    let handler = seen.clone();
    let stream = stream.dead_letter(format!("{}.dlq", world.stream), limits());
    let reader = stream.consume(move |message| unlucky(message, handler.clone())).await.unwrap();
    until("all", || reader.handled() == 4 && reader.skipped() == 2).await;
    assert_eq!((reader.failed(), reader.is_active()), (2, true));
    assert_eq!(seen.list(), texts(0..6));

    let target = format!("{}.dlq", world.stream);
    let dead_letters = world.direct.stream::<String>(&target).codec(Text).from_first();
    let mut copies = dead_letters.messages().await.unwrap();
    for (offset, body) in [(2, "2"), (4, "4")] {
        let copy = copies.next().await.unwrap().unwrap();
        assert_eq!(copy.payload(), body);
        assert_eq!(copy.header("attempt"), Some(Value::I32(7)));
        assert_eq!((copy.header_text("kind").as_deref(), copy.id().as_str()), (Some("order"), "m"));
        assert_eq!(copy.header_text(dead::STREAM), Some(world.stream.clone()));
        let number = match copy.header(dead::OFFSET) {
            Some(Value::U64(number)) => number,
            Some(Value::I64(number)) => number.try_into().unwrap(),
            other => panic!("{other:?}"),
        };
        assert_eq!(number, offset);
        let reason = copy.header_text(dead::REASON).unwrap();
        assert!(reason.contains("has no luck"), "{reason}");
        copy.done().await;
    }
}

/// A target that is there is taken as it is over AMQP.
pub async fn a_target_that_is_there_is_used(world: World) {
    world.filled(3).await;
    let target = format!("{}.dlq", world.stream);
    world.direct.declare_stream(&target, limits().segment_bytes(1 << 20)).await.unwrap();
    let stream = world.kelda.stream::<String>(&world.stream).codec(Text).from_first().skip_failures();
    let reader = stream.consume(move |message| unlucky(message, Seen::default())).await.unwrap();
    until("all", || reader.skipped() == 1).await;
    assert_eq!(world.held(&target, "2").await, ["2"]);
    // One that is to be there and is not is made with the limits that are given.
    let other = format!("{}.aside", world.stream);
    let stream = world.kelda.stream::<String>(&world.stream).codec(Text).from_first();
    let stream = stream.dead_letter(&other, limits());
    let reader = stream.consume(move |message| unlucky(message, Seen::default())).await.unwrap();
    until("all", || reader.skipped() == 1).await;
    world.direct.declare_stream(&other, limits()).await.unwrap();
    let error = world.direct.declare_stream(&other, StreamLimits::new().max_bytes(5)).await.unwrap_err();
    assert!(matches!(error, kelda_client::Error::Mismatch(_)), "{error}");
}
