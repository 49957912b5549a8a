//! From messages to records and back.

#![allow(clippy::unwrap_used)]

use super::*;

fn message() -> Message {
    let header = |name: &str, value| Header::new(name, value);
    let headers = vec![
        header("z", Value::I8(-5)),
        header("message-id", Value::Text("mine".to_owned())),
        header("amqp-header:x", Value::Void),
        header("z", Value::Array(vec![Value::I32(1)])),
        header("x-stream-offset", Value::I64(77)),
        header("BCC", Value::Array(vec![])),
    ];
    let properties = Properties {
        content_type: Some("text/plain".into()),
        message_id: Some("id-1".into()),
        correlation_id: Short::of(Bytes::from_static(b"\xff\x00")),
        delivery_mode: Some(2),
        priority: Some(7),
        timestamp: Some(1_700_000_000),
        cluster_id: Some("c".into()),
        headers: Some(Table(headers)),
        ..Properties::default()
    };
    Message { exchange: "x".into(), routing_key: "k".into(), properties, body: Bytes::new() }
}

#[test]
fn a_message_comes_back_with_its_offset() {
    let sent = message();
    let headers = to_headers(&sent, b"queue").unwrap();
    let (exchange, routing_key, got) = from_headers(&headers, &"queue".into(), 9);
    assert_eq!((exchange, routing_key), (sent.exchange, sent.routing_key));
    let mut expected = sent.properties.headers.clone().unwrap().0;
    expected.retain(|header| header.name != "x-stream-offset" && header.name != "BCC");
    expected.push(Header::new("x-stream-offset", Value::I64(9)));
    assert_eq!(got, Properties { headers: Some(Table(expected)), ..sent.properties });
}

#[test]
fn what_goes_without_saying_takes_no_room() {
    let sent = Message { routing_key: "queue".into(), ..Message::default() };
    assert!(to_headers(&sent, b"queue").unwrap().is_empty());
    let (exchange, routing_key, _) = from_headers(&Headers::none(), &"queue".into(), 0);
    assert_eq!((exchange, routing_key), (Short::default(), "queue".into()));
}

#[test]
fn a_header_of_a_record_is_a_property_by_name_and_type() {
    let list = [
        Header::new("message-id", Value::Text("id".to_owned())),
        Header::new("type", Value::I32(3)),
        Header::new("priority", Value::Text("high".to_owned())),
    ];
    let (_, _, got) = from_headers(&Headers::new(&list).unwrap(), &"queue".into(), 0);
    assert_eq!(got.message_id, Some("id".into()));
    assert_eq!((got.kind, got.priority), (None, None));
    assert_eq!(got.headers.unwrap().0[..2], list[1..]);
}
