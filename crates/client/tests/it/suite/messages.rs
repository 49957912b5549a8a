//! What a message carries from a producer to a reader.

use bytes::Bytes;
use kelda_client::{Binary, Outgoing, Value, envelope};

use super::{Over, World, limits};

pub async fn headers_keep_their_names_and_types(world: World) {
    world.direct.declare_stream(&world.stream, limits()).await.unwrap();
    let mut sent = vec![
        ("bytes", Value::Bytes(Bytes::from_static(b"\0\xff"))),
        ("text", Value::Text("ü".to_owned())),
        ("bool", Value::Bool(true)),
        ("i8", Value::I8(-1)),
        ("u8", Value::U8(200)),
        ("i16", Value::I16(-300)),
        ("u16", Value::U16(65_000)),
        ("i32", Value::I32(-70_000)),
        ("u32", Value::U32(u32::MAX)),
        ("i64", Value::I64(i64::MIN)),
        ("f32", Value::F32(0.5)),
        ("f64", Value::F64(-0.25)),
        ("time", Value::Timestamp(7)),
        ("void", Value::Void),
    ];
    if world.over != Over::RabbitMq {
        // RabbitMQ drops tables and arrays of a stream's messages, and does not survive a decimal.
        sent.push(("array", Value::Array(vec![Value::I32(1), Value::Void])));
        sent.push(("decimal", Value::Decimal { scale: 2, value: 314 }));
    }
    let body = vec![7_u8; 300_000];
    let mut message =
        Outgoing::new(body.as_slice()).message_id("m1").message_type("placed").correlation_id("c1");
    for (name, value) in &sent {
        message = message.header(*name, value.clone());
    }
    let producer = world.kelda.producer::<[u8]>(&world.stream).codec(Binary).open().await.unwrap();
    producer.send_message(message).await.unwrap().await.unwrap();
    producer.send(&[]).await.unwrap().await.unwrap();

    let stream = world.kelda.stream::<Bytes>(&world.stream).codec(Binary).from_first();
    let mut messages = stream.messages().await.unwrap();
    let message = messages.next().await.unwrap().unwrap();
    assert_eq!(message.body(), &body);
    assert_eq!((message.id().as_str(), message.message_type().as_deref()), ("m1", Some("placed")));
    assert_eq!(message.correlation_id().as_deref(), Some("c1"));
    for (name, value) in sent {
        assert_eq!(message.header(name), Some(value), "{name}");
    }
    assert_eq!(
        message.headers().last().map(|header| header.name.clone()).as_deref(),
        Some("x-stream-offset")
    );
    assert_eq!(message.header(envelope::STREAM_OFFSET), Some(Value::I64(0)));
    message.done().await;
    let empty = messages.next().await.unwrap().unwrap();
    assert_eq!((empty.body().len(), empty.offset()), (0, 1));
    let stream_id = empty.stream_id().to_string();
    let own = if world.over == Over::RabbitMq { world.stream.clone() } else { stream_id };
    assert_eq!(empty.id(), format!("{own}-1"));
}

/// Over AMQP the type of a message is its property; over HTTP it is the stream's.
pub async fn the_content_type_is_known(world: World) {
    world.direct.declare_stream(&world.stream, limits()).await.unwrap();
    let producer = world.kelda.producer::<[u8]>(&world.stream).codec(Binary).open().await.unwrap();
    let message = Outgoing::new(b"x".as_slice()).header(envelope::CONTENT_TYPE, "text/plain");
    producer.send_message(message).await.unwrap().await.unwrap();
    let stream = world.kelda.stream::<Bytes>(&world.stream).codec(Binary).from_first();
    let mut messages = stream.messages().await.unwrap();
    let message = messages.next().await.unwrap().unwrap();
    let expected = if world.over.is_amqp() { "text/plain" } else { "application/octet-stream" };
    assert_eq!(message.content_type(), expected);
    assert_eq!(message.header_text(envelope::CONTENT_TYPE).as_deref(), Some("text/plain"));
}
