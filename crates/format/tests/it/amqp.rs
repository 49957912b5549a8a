//! AMQP's keys and values in the key space never change.

use bytes::Bytes;
use kelda_format::amqp::{
    BindingKey, BindingRow, Destination, ExchangeKind, ExchangeRow, ROW_VERSION, exchange_key, source_prefix,
    vhost_prefix,
};
use kelda_format::wire::{Reader, Wire};
use kelda_format::{Header, Headers, StreamId, Value};

use crate::golden::pinned;

fn row<T: Wire + PartialEq + std::fmt::Debug>(name: &str, row: &T) {
    let mut bytes = Vec::new();
    row.put(&mut bytes);
    let bytes: Bytes = pinned(name, &bytes).into();
    let mut reader = Reader::of_shared(&bytes, "row");
    assert_eq!(T::get(&mut reader).unwrap(), *row);
    assert_eq!(reader.at(), bytes.len());
}

fn headers(list: &[(&str, Value)]) -> Headers {
    let list: Vec<Header> = list.iter().map(|(name, value)| Header::new(*name, value.clone())).collect();
    Headers::new(&list).unwrap()
}

#[test]
fn rows() {
    let arguments = headers(&[("alternate-exchange", Value::Text("rest".to_owned()))]);
    row(
        "amqp-exchange-row",
        &ExchangeRow {
            version: ROW_VERSION,
            kind: ExchangeKind::Topic,
            durable: true,
            auto_delete: true,
            internal: false,
            arguments: arguments.encoded().clone(),
        },
    );
    let to = |source, destination| BindingRow { version: ROW_VERSION, source, destination };
    row("amqp-binding-row-queue", &to(300, Destination::Queue(StreamId(0x1234))));
    row("amqp-binding-row-exchange", &to(0, Destination::Exchange(301)));
    for (tag, kind) in
        [ExchangeKind::Direct, ExchangeKind::Fanout, ExchangeKind::Topic, ExchangeKind::Headers]
            .iter()
            .enumerate()
    {
        let mut bytes = Vec::new();
        kind.put(&mut bytes);
        assert_eq!(bytes, [u8::try_from(tag).unwrap() + 1]);
    }
}

#[test]
fn keys() {
    assert_eq!(
        pinned("amqp-exchange-key", &exchange_key(b"/", b"orders")),
        &exchange_key(b"/", b"orders")[..]
    );
    let text = |text: &'static str| Bytes::from_static(text.as_bytes());
    let key = BindingKey {
        vhost: text("team"),
        source: text("orders"),
        routing_key: text("eu.#"),
        to_exchange: true,
        destination: text("copies"),
        arguments: headers(&[("x-match", Value::Text("any".to_owned())), ("n", Value::I32(-1))]),
    };
    let bytes: Bytes = pinned("amqp-binding-key", &key.encode()).into();
    assert_eq!(BindingKey::decode(&bytes).unwrap(), key);
    assert!(bytes.starts_with(&source_prefix(b"team", b"orders")));
    assert!(bytes.starts_with(&vhost_prefix(b"team")) && !bytes.starts_with(&vhost_prefix(b"tea")));
}
