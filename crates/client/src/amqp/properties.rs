//! Records as AMQP messages and back: owns which header is a property. Guarantees that a record which went through a server
//! and back has the headers it had, but for order and repeats, which AMQP's tables do not have here. Never reads a body.

use std::mem;

use bytes::Bytes;
use kelda_format::{Header, Headers, LimitError, Offset, Record, StoredRecord, Timestamp, Value};
use lapin::BasicProperties;
use lapin::message::Delivery;
use lapin::types::{AMQPValue, FieldTable, ShortString};

use super::headers;
use crate::envelope::STREAM_OFFSET;

/// The headers that are properties.
const PROPERTIES: [&str; 13] = [
    "content-type",
    "content-encoding",
    "delivery-mode",
    "priority",
    "correlation-id",
    "reply-to",
    "expiration",
    "message-id",
    "timestamp",
    "type",
    "user-id",
    "app-id",
    "cluster-id",
];
/// Stands before an application header that would be taken for a property.
const ESCAPE: &str = "amqp-header:";
const EXCHANGE: &str = "x-exchange";
const ROUTING_KEY: &str = "x-routing-key";

/// The properties of a record that `user` publishes.
pub(super) fn outgoing(record: &Record, user: &str) -> BasicProperties {
    let mut properties = BasicProperties::default();
    let mut table = FieldTable::default();
    for Header { name, value } in record.headers.iter() {
        if !set_property(&mut properties, &name, &value, user) {
            let own = name.strip_prefix(ESCAPE).unwrap_or(&name);
            if own != STREAM_OFFSET {
                headers::insert(&mut table, own, &value);
            }
        }
    }
    if let (None, Some(time)) = (properties.timestamp(), record.producer_timestamp) {
        properties = properties.with_timestamp(time.0 / 1_000);
    }
    if table.inner().is_empty() { properties } else { properties.with_headers(table) }
}

/// Sets the property of this name; false when there is none, it is set already or it cannot have that value.
fn set_property(properties: &mut BasicProperties, name: &str, value: &Value, user: &str) -> bool {
    let text = match value {
        Value::ShortString(text) | Value::Text(text) => ShortString::try_new(text.as_str()).ok(),
        _ => None,
    };
    macro_rules! set {
        ($get:ident, $set:ident, $value:expr) => {
            match $value {
                Some(value) if properties.$get().is_none() => {
                    *properties = mem::take(properties).$set(value);
                    true
                }
                _ => false,
            }
        };
    }
    let small = match value {
        Value::U8(value) => Some(*value),
        _ => None,
    };
    match name {
        "content-type" => set!(content_type, with_content_type, text),
        "content-encoding" => set!(content_encoding, with_content_encoding, text),
        // A server refuses what it does not know.
        "delivery-mode" => {
            set!(delivery_mode, with_delivery_mode, small.filter(|mode| matches!(mode, 1 | 2)))
        }
        "priority" => set!(priority, with_priority, small),
        "correlation-id" => set!(correlation_id, with_correlation_id, text),
        "reply-to" => set!(reply_to, with_reply_to, text),
        "expiration" => set!(expiration, with_expiration, text.filter(is_number)),
        "message-id" => set!(message_id, with_message_id, text),
        "timestamp" => {
            let seconds = match value {
                Value::Timestamp(seconds) => Some(*seconds),
                _ => None,
            };
            set!(timestamp, with_timestamp, seconds)
        }
        "type" => set!(kind, with_type, text),
        // Only its own user is taken from a publisher; another's name stays an ordinary header.
        "user-id" => set!(user_id, with_user_id, text.filter(|text| text.as_str() == user)),
        "app-id" => set!(app_id, with_app_id, text),
        "cluster-id" => set!(cluster_id, with_cluster_id, text),
        _ => false,
    }
}

fn is_number(text: &ShortString) -> bool {
    !text.as_str().is_empty() && text.as_str().bytes().all(|byte| byte.is_ascii_digit())
}

/// The offset of a delivery, when it is of a stream.
pub(super) fn offset(delivery: &Delivery) -> Option<u64> {
    match delivery.properties.headers().as_ref()?.inner().get(STREAM_OFFSET)? {
        AMQPValue::LongLongInt(offset) => u64::try_from(*offset).ok(),
        _ => None,
    }
}

/// The record of a delivery from this queue.
///
/// # Errors
/// When the headers are more than a record may have.
pub(super) fn incoming(delivery: Delivery, queue: &str, offset: u64) -> Result<StoredRecord, LimitError> {
    let properties = &delivery.properties;
    let mut list = Vec::new();
    let mut text = |name: &str, value: &Option<ShortString>| {
        list.extend(
            value.as_ref().map(|value| Header::new(name, Value::ShortString(value.as_str().to_owned()))),
        );
    };
    text("content-type", properties.content_type());
    text("content-encoding", properties.content_encoding());
    text("correlation-id", properties.correlation_id());
    text("reply-to", properties.reply_to());
    text("expiration", properties.expiration());
    text("message-id", properties.message_id());
    text("type", properties.kind());
    text("user-id", properties.user_id());
    text("app-id", properties.app_id());
    text("cluster-id", properties.cluster_id());
    text(EXCHANGE, &Some(delivery.exchange.clone()).filter(|exchange| !exchange.as_str().is_empty()));
    text(ROUTING_KEY, &Some(delivery.routing_key.clone()).filter(|key| key.as_str() != queue));
    list.extend(properties.delivery_mode().map(|mode| Header::new("delivery-mode", Value::U8(mode))));
    list.extend(properties.priority().map(|priority| Header::new("priority", Value::U8(priority))));
    let time = *properties.timestamp();
    list.extend(time.map(|seconds| Header::new("timestamp", Value::Timestamp(seconds))));
    for (name, field) in properties.headers().iter().flat_map(|table| table.inner()) {
        let name = name.as_str();
        if name == STREAM_OFFSET {
            continue;
        }
        let taken = PROPERTIES.contains(&name) || name.starts_with(ESCAPE);
        let name = if taken { format!("{ESCAPE}{name}") } else { name.to_owned() };
        list.push(Header::new(name, headers::value(field)));
    }
    let told = time.map(|seconds| Timestamp(seconds.saturating_mul(1_000)));
    let record =
        Record { headers: Headers::new(&list)?, producer_timestamp: told, body: Bytes::from(delivery.data) };
    // When the server took it, AMQP does not say.
    Ok(StoredRecord { offset: Offset(offset), timestamp: told.unwrap_or_default(), record })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn through(headers: &[Header]) -> Vec<Header> {
        let record = Record { headers: Headers::new(headers).unwrap_or_default(), ..Record::new("x") };
        let mut delivery = Delivery::mock(1, "".into(), "q".into(), false, b"x".to_vec());
        delivery.properties = outgoing(&record, "me");
        let stored = incoming(delivery, "q", 9);
        stored.map(|stored| stored.record.headers.iter().collect()).unwrap_or_default()
    }

    fn short(name: &str, value: &str) -> Header {
        Header::new(name, Value::ShortString(value.to_owned()))
    }

    #[test]
    fn properties_are_headers_and_come_back_as_such() {
        let all = [
            short("content-type", "text/plain"),
            short("content-encoding", "gzip"),
            short("correlation-id", "c"),
            short("reply-to", "r"),
            short("expiration", "5"),
            short("message-id", "m"),
            short("type", "t"),
            short("user-id", "me"),
            short("app-id", "a"),
            short("cluster-id", "k"),
            Header::new("delivery-mode", Value::U8(2)),
            Header::new("priority", Value::U8(9)),
            Header::new("timestamp", Value::Timestamp(5)),
            Header::new("own", Value::Bool(true)),
        ];
        assert_eq!(through(&all), all);
        let record = Record { headers: Headers::new(&all).unwrap_or_default(), ..Record::new("x") };
        let properties = outgoing(&record, "me");
        assert_eq!(properties.headers().as_ref().map(|table| table.inner().len()), Some(1));
    }

    #[test]
    fn what_a_server_would_refuse_as_a_property_stays_a_header() {
        for header in [
            Header::new("user-id", Value::Text("somebody".to_owned())),
            Header::new("expiration", Value::Text("soon".to_owned())),
            Header::new("delivery-mode", Value::U8(7)),
            Header::new("priority", Value::I32(1)),
            Header::new("message-id", Value::Text("m".repeat(256))),
        ] {
            let escaped = Header::new(format!("{ESCAPE}{}", header.name), header.value.clone());
            assert_eq!(through(std::slice::from_ref(&header)), std::slice::from_ref(&escaped));
            assert_eq!(through(std::slice::from_ref(&escaped)), [escaped]);
        }
    }

    #[test]
    fn exchange_and_routing_key_are_headers_when_they_say_something() {
        let delivery = Delivery::mock(1, "logs".into(), "a.b".into(), false, Vec::new());
        let stored = incoming(delivery, "q", 0);
        let headers: Vec<Header> = stored.map(|it| it.record.headers.iter().collect()).unwrap_or_default();
        assert_eq!(headers, [short(EXCHANGE, "logs"), short(ROUTING_KEY, "a.b")]);
    }

    #[test]
    fn an_offset_of_the_publisher_is_dropped() {
        assert_eq!(through(&[Header::new(STREAM_OFFSET, Value::I64(1))]), []);
    }
}
