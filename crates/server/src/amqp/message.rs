//! Messages as records.
//!
//! Owns the way from properties, headers and routing of a message to the headers of a record and back. Guarantees that what
//! was published over AMQP is delivered with the same properties and headers, in type and order. Pure.

use bytes::Bytes;
use kelda_format::{Header, Headers, Value};

use super::producer::is_for_the_node;
use super::reply::{self, Refusal};
use super::wire::{Properties, Short, Table};

/// The offset, among the headers of every delivery.
pub const STREAM_OFFSET: &str = "x-stream-offset";
/// The exchange that a message was published to, when it is not the default one.
const EXCHANGE: &str = "x-exchange";
/// The routing key of a message, when it is not the name of its queue.
const ROUTING_KEY: &str = "x-routing-key";
/// What stands before the name of a header that would be taken for a property.
const ESCAPED: &str = "amqp-header:";
/// Queues beside the routing key that are not shown to others.
pub const BCC: &str = "BCC";

/// The properties that are short strings, with the headers that hold them.
macro_rules! texts {
    ($with:ident, $properties:expr, $($more:tt)*) => {
        $with!($properties, $($more)*;
            content_type "content-type", content_encoding "content-encoding", correlation_id "correlation-id",
            reply_to "reply-to", expiration "expiration", message_id "message-id", kind "type", user_id "user-id",
            app_id "app-id", cluster_id "cluster-id")
    };
}

const RESERVED: &[&str] = &[
    "content-type",
    "content-encoding",
    "correlation-id",
    "reply-to",
    "expiration",
    "message-id",
    "type",
    "user-id",
    "app-id",
    "cluster-id",
    "delivery-mode",
    "priority",
    "timestamp",
    EXCHANGE,
    ROUTING_KEY,
];

/// A message as it was published.
#[derive(Clone, Debug, Default)]
pub struct Message {
    /// The exchange.
    pub exchange: Short,
    /// The routing key.
    pub routing_key: Short,
    /// Its properties.
    pub properties: Properties,
    /// Its body.
    pub body: Bytes,
}

/// The headers of the record that a message is in the stream of `queue`.
///
/// # Errors
/// They take more room than those of a record may.
pub fn to_headers(message: &Message, queue: &[u8]) -> Result<Headers, Refusal> {
    let properties = &message.properties;
    let mut list = Vec::new();
    macro_rules! put {
        ($from:expr, $list:ident; $($field:ident $name:literal),+) => {
            $(if let Some(value) = &$from.$field {
                $list.push(Header::new($name, to_value(value)));
            })+
        };
    }
    texts!(put, properties, list);
    if let Some(mode) = properties.delivery_mode {
        list.push(Header::new("delivery-mode", Value::U8(mode)));
    }
    if let Some(priority) = properties.priority {
        list.push(Header::new("priority", Value::U8(priority)));
    }
    if let Some(seconds) = properties.timestamp {
        list.push(Header::new("timestamp", Value::Timestamp(seconds)));
    }
    if !message.exchange.is_empty() {
        list.push(Header::new(EXCHANGE, to_value(&message.exchange)));
    }
    if message.routing_key.bytes() != queue {
        list.push(Header::new(ROUTING_KEY, to_value(&message.routing_key)));
    }
    for header in properties.headers.iter().flat_map(|table| &table.0) {
        let name = header.name.as_str();
        if name == STREAM_OFFSET || name == BCC || is_for_the_node(name) {
            continue;
        }
        if RESERVED.contains(&name) || name.starts_with(ESCAPED) {
            list.push(Header::new(format!("{ESCAPED}{name}"), header.value.clone()));
        } else {
            list.push(header.clone());
        }
    }
    Headers::new(&list)
        .map_err(|error| reply::precondition_failed(format!("headers cannot be stored: {error}")))
}

/// What a record is delivered as: exchange, routing key and properties.
pub fn from_headers(headers: &Headers, queue: &Short, offset: u64) -> (Short, Short, Properties) {
    let mut properties = Properties::default();
    let (mut exchange, mut routing_key) = (Short::default(), queue.clone());
    let mut table = Vec::new();
    let position = Value::I64(i64::try_from(offset).unwrap_or(i64::MAX));
    for header in headers.iter() {
        let Header { name, value } = header;
        match (name.as_str(), &value) {
            (STREAM_OFFSET, _) => continue,
            ("delivery-mode", Value::U8(mode)) => properties.delivery_mode = Some(*mode),
            ("priority", Value::U8(priority)) => properties.priority = Some(*priority),
            ("timestamp", Value::Timestamp(seconds)) => properties.timestamp = Some(*seconds),
            (EXCHANGE, value) => match to_short(value) {
                Some(short) => exchange = short,
                None => table.push(Header { name, value: value.clone() }),
            },
            (ROUTING_KEY, value) => match to_short(value) {
                Some(short) => routing_key = short,
                None => table.push(Header { name, value: value.clone() }),
            },
            (text, value) => {
                macro_rules! get {
                    ($to:expr, $text:expr, $value:expr; $($field:ident $name:literal),+) => {
                        match $text {
                            $($name => to_short($value).map(|short| $to.$field = Some(short)),)+
                            _ => None,
                        }
                    };
                }
                if texts!(get, properties, text, value).is_none() {
                    let plain = text.strip_prefix(ESCAPED).map(str::to_owned);
                    table.push(Header { name: plain.unwrap_or_else(|| name.clone()), value: value.clone() });
                }
            }
        }
    }
    table.push(Header::new(STREAM_OFFSET, position));
    properties.headers = Some(Table(table));
    (exchange, routing_key, properties)
}

fn to_value(short: &Short) -> Value {
    match std::str::from_utf8(short.bytes()) {
        Ok(text) => Value::ShortString(text.to_owned()),
        Err(_) => Value::LongString(short.bytes().clone()),
    }
}

fn to_short(value: &Value) -> Option<Short> {
    match value {
        Value::ShortString(text) | Value::Text(text) => Short::of(Bytes::copy_from_slice(text.as_bytes())),
        Value::LongString(bytes) => Short::of(bytes.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
