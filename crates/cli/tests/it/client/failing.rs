//! Entries that cannot be handled, and their copies.

use kelda_client::envelope::dead;
use kelda_client::{Diagnostic, Error, FailureCause, Header, Message, ReaderEnd, StreamLimits, Text, Value};

use super::{World, until};

/// A stream of JSON with one record that is no order, and a handler that fails at one.
#[derive(serde::Deserialize)]
struct Order {
    id: u64,
}

async fn orders(world: &World) {
    let limits = StreamLimits::new().max_bytes(1 << 40).content_type("application/json");
    world.kelda.declare_stream("orders", limits).await.unwrap();
    let producer = world.kelda.producer::<str>("orders").codec(Text).open().await.unwrap();
    for body in [r#"{"id":0}"#, r#"{"id":"one"}"#, r#"{"id":2}"#, r#"{"id":3}"#] {
        let message = kelda_client::Outgoing::new(body).header("kind", "order");
        drop(producer.send_message(message).await.unwrap());
    }
    producer.close().await.unwrap();
}

async fn handle(message: Message<Order>) -> Result<(), String> {
    if message.payload().id == 2 {
        Err(format!("order {} has no luck", message.payload().id))
    } else {
        Ok(())
    }
}

#[tokio::test]
async fn a_payload_that_does_not_decode_stops_the_reader_at_that_entry() {
    let world = World::new();
    orders(&world).await;
    let mut diagnostics = world.kelda.diagnostics();
    let reader = world.kelda.stream::<Order>("orders").from_first().consume(handle).await.unwrap();
    until("it stopped", || !reader.is_active()).await;
    assert_eq!((reader.handled(), reader.failed(), reader.skipped()), (1, 1, 0));
    assert_eq!(reader.last_handled_offset(), Some(0));
    let end = reader.join().await;
    assert!(matches!(&end, ReaderEnd::Failed { offset: 1, cause: FailureCause::Payload(_) }), "{end}");
    let said = diagnostics.next().await;
    assert!(matches!(&said, Some(Diagnostic::ReaderStopped { offset: Some(1), .. })), "{said:?}");
    assert_eq!(world.kelda.head("orders").await.unwrap().next_offset, 4, "nothing was appended");
}

#[tokio::test]
async fn skipping_puts_a_copy_of_each_beside_the_stream() {
    let world = World::new();
    orders(&world).await;
    let stream = world.kelda.stream::<Order>("orders").from_first();
    let reader = stream.skip_failures().consume(handle).await.unwrap();
    until("all", || reader.last_handled_offset() == Some(3)).await;
    assert_eq!((reader.handled(), reader.failed(), reader.skipped()), (2, 2, 2));
    let head = world.kelda.head("orders.dlq").await.unwrap();
    assert_eq!((head.content_type.as_str(), head.next_offset), ("application/json", 2));

    let dead_letters = world.kelda.stream::<String>("orders.dlq").codec(Text).from_first();
    let mut copies = dead_letters.messages().await.unwrap();
    let stream_id = world.kelda.head("orders").await.unwrap().stream_id;
    for (offset, body, reason) in
        [(1, r#"{"id":"one"}"#, "invalid type"), (2, r#"{"id":2}"#, "order 2 has no luck")]
    {
        let copy = copies.next().await.unwrap().unwrap();
        assert_eq!(copy.payload(), body);
        assert_eq!(copy.headers()[0], Header::new("kind", Value::Text("order".to_owned())));
        assert_eq!(copy.header_text(dead::STREAM).as_deref(), Some("orders"));
        assert_eq!(copy.header(dead::STREAM_ID), Some(Value::U64(stream_id.parse().unwrap())));
        assert_eq!(copy.header(dead::OFFSET), Some(Value::U64(offset)));
        let said = copy.header_text(dead::REASON).unwrap();
        assert!(said.contains(reason), "{said}");
        copy.done().await;
    }
}

#[tokio::test]
async fn a_stream_of_copies_that_does_not_fit_is_an_error_at_the_start() {
    let world = World::new();
    orders(&world).await;
    world.kelda.declare_stream("aside", StreamLimits::new().content_type("text/plain")).await.unwrap();
    let stream = || world.kelda.stream::<Order>("orders").from_first();
    let error = stream().dead_letter("aside", StreamLimits::new()).consume(handle).await.unwrap_err();
    assert!(matches!(error, Error::Mismatch(_)), "{error}");
    let elsewhere = stream().dead_letter("dead/orders", StreamLimits::new().max_bytes(1 << 30));
    let reader = elsewhere.consume(handle).await.unwrap();
    until("all", || reader.skipped() == 2).await;
    assert_eq!(world.kelda.head("dead/orders").await.unwrap().headers["kelda-max-bytes"], "1073741824");
}

#[tokio::test]
async fn a_copy_that_cannot_be_written_stops_the_reader() {
    let world = World::new();
    orders(&world).await;
    let stream = || world.kelda.stream::<Order>("orders").from_first().skip_failures();
    let (sealed, wait) = tokio::sync::watch::channel(false);
    let handler = move |message: Message<Order>| {
        let mut wait = wait.clone();
        async move {
            wait.wait_for(|sealed| *sealed).await.unwrap();
            handle(message).await
        }
    };
    let reader = stream().consume(handler).await.unwrap();
    world.kelda.seal("orders.dlq").await.unwrap();
    sealed.send_replace(true);
    until("it stopped", || !reader.is_active()).await;
    assert_eq!((reader.last_handled_offset(), reader.skipped()), (Some(0), 0));
    let end = reader.join().await;
    assert!(matches!(&end, ReaderEnd::DeadLetter { offset: 1, .. }), "{end}");
    // And a stream that takes no copies is an error at the start.
    let error = stream().consume(handle).await.unwrap_err();
    assert!(matches!(error, Error::Mismatch(_)), "{error}");
}
