//! What a message carries from a producer to a reader, and loops of one's own.

use bytes::Bytes;
use kelda_client::{Binary, Message, Outgoing, Text, Timestamp, TraceContext, Value, envelope};

use super::{World, text};

#[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
struct OrderPlaced {
    id: u64,
}

const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

#[tokio::test]
async fn payload_headers_and_envelope_come_as_they_were_sent() {
    let World { kelda, node: _node, .. } = &World::new();
    let limits = text().content_type("application/json");
    let head = kelda.declare_stream("orders", limits).await.unwrap();
    let producer = kelda.producer::<OrderPlaced>("orders").open().await.unwrap();
    let context = TraceContext::parse(TRACE, Some("a=b")).unwrap();
    let order = OrderPlaced { id: 7 };
    let placed = Outgoing::new(&order)
        .message_id("m1")
        .message_type("placed")
        .trace_context(&context)
        .header("tries", 3_u8)
        .header("raw", Bytes::from_static(&[0xFF]))
        .producer_timestamp(Timestamp(1_700_000_000_000));
    let sent = producer.send_message(placed).await.unwrap();
    let receipt = sent.await.unwrap();
    assert_eq!((receipt.offset, receipt.duplicate), (Some(0), false));

    let mut messages = kelda.stream::<OrderPlaced>("orders").from_first().messages().await.unwrap();
    let first = messages.next().await.unwrap().unwrap();
    assert_eq!(*first.payload(), order);
    assert_eq!((first.offset(), Some(first.timestamp())), (0, receipt.timestamp));
    assert_eq!(first.producer_timestamp(), Some(Timestamp(1_700_000_000_000)));
    assert_eq!((first.stream(), first.content_type()), ("orders", "application/json"));
    assert_eq!(first.stream_id().to_string(), head.stream_id);
    assert_eq!((first.id().as_str(), first.message_type().as_deref()), ("m1", Some("placed")));
    assert_eq!(first.trace_context(), Some(context));
    assert_eq!(first.header("tries"), Some(Value::U8(3)));
    assert_eq!(first.header("raw"), Some(Value::Bytes(Bytes::from_static(&[0xFF]))));
    assert_eq!(first.header(envelope::STREAM_OFFSET), Some(Value::I64(0)));

    // What is caused by it says so.
    let next = OrderPlaced { id: 8 };
    producer.send_message(Outgoing::new(&next).caused_by(first.message())).await.unwrap().await.unwrap();
    first.done().await;
    let second = messages.next().await.unwrap().unwrap();
    assert_eq!(second.id(), format!("{}-1", head.stream_id), "one of its own");
    assert_eq!(
        (second.causation_id().as_deref(), second.correlation_id().as_deref()),
        (Some("m1"), Some("m1"))
    );
    assert_eq!(second.trace_context().unwrap().trace_id(), "0af7651916cd43dd8448eb211c80319c");
    second.done().await;
    assert_eq!(messages.reader().last_handled_offset(), Some(1));
}

#[tokio::test]
async fn text_and_bytes_need_no_json() {
    let World { kelda, node: _node, .. } = &World::new();
    kelda.declare_stream("text", text()).await.unwrap();
    let producer = kelda.producer::<[u8]>("text").codec(Binary).open().await.unwrap();
    producer.send(b"gr\xC3\xBC\xC3\x9Fe").await.unwrap().await.unwrap();
    kelda.seal("text").await.unwrap();
    let read = |message: Message<String>| async move { assert_eq!(message.payload(), "grüße") };
    let reader = kelda.stream::<String>("text").codec(Text).from_first().consume(read).await.unwrap();
    let end = reader.join().await;
    assert!(matches!(end, kelda_client::ReaderEnd::Sealed), "{end}");
}
