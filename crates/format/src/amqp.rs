//! AMQP's exchanges and bindings in the key space: owns their keys and values. Guarantees that the keys of all bindings of one
//! source, and of one source and routing key, lie side by side. Never says what an exchange does.
//!
//! A key is a row of short strings (length `u8`, bytes), so that no name needs escaping and none is the beginning of
//! another. The arguments of a binding are at the end of its key as they are encoded, because bindings that differ in nothing
//! else are different ones.
//!
//! An exchange's id is the version of its row; the predeclared ones have none and the id 0. A binding names the ids of its two
//! ends: when one of them was deleted, and perhaps made anew, the binding is dead, whether its row is still there or not.

use bytes::Bytes;

use crate::header::Headers;
use crate::wire::{DecodeError, Reader, wire_enum, wire_struct};

/// What a value begins with.
pub const ROW_VERSION: u8 = 1;

wire_enum! {
    /// How an exchange routes.
    #[derive(Copy)]
    pub enum ExchangeKind {
        /// By the whole routing key.
        1 => Direct,
        /// To everybody.
        2 => Fanout,
        /// By patterns of words.
        3 => Topic,
        /// By headers.
        4 => Headers,
    }

    /// What a binding leads to.
    #[derive(Copy)]
    pub enum Destination {
        /// A queue: the id of its stream.
        1 => Queue(stream: crate::ids::StreamId),
        /// An exchange: its id.
        2 => Exchange(id: u64),
    }
}

wire_struct! {
    /// An exchange.
    pub struct ExchangeRow {
        /// [`ROW_VERSION`].
        pub version: u8,
        /// How it routes.
        pub kind: ExchangeKind,
        /// Whether it was declared durable; it is kept in any case.
        pub durable: bool,
        /// Whether it goes with its last binding.
        pub auto_delete: bool,
        /// Whether only other exchanges may publish to it.
        pub internal: bool,
        /// Its arguments, as encoded [`Headers`].
        pub arguments: Bytes,
    }

    /// A binding.
    pub struct BindingRow {
        /// [`ROW_VERSION`].
        pub version: u8,
        /// The id of the exchange that it leads from; 0 for a predeclared one.
        pub source: u64,
        /// Where it leads to.
        pub destination: Destination,
    }
}

/// The key of an exchange.
#[must_use]
pub fn exchange_key(vhost: &[u8], name: &[u8]) -> Bytes {
    strings(&[vhost, name])
}

/// What the keys of all bindings of a virtual host begin with.
#[must_use]
pub fn vhost_prefix(vhost: &[u8]) -> Bytes {
    strings(&[vhost])
}

/// What the keys of all bindings from an exchange begin with.
#[must_use]
pub fn source_prefix(vhost: &[u8], source: &[u8]) -> Bytes {
    strings(&[vhost, source])
}

/// A binding by what makes it one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindingKey {
    /// The virtual host.
    pub vhost: Bytes,
    /// The exchange that it leads from.
    pub source: Bytes,
    /// The routing key or pattern.
    pub routing_key: Bytes,
    /// Whether it leads to an exchange; otherwise to a queue.
    pub to_exchange: bool,
    /// The name of what it leads to.
    pub destination: Bytes,
    /// Its arguments.
    pub arguments: Headers,
}

impl BindingKey {
    /// The key.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let mut out = strings(&[&self.vhost, &self.source, &self.routing_key]).to_vec();
        out.push(u8::from(self.to_exchange));
        out.extend_from_slice(&strings(&[&self.destination]));
        out.extend_from_slice(self.arguments.encoded());
        out.into()
    }

    /// Reads a key.
    ///
    /// # Errors
    /// When it is none.
    pub fn decode(key: &Bytes) -> Result<BindingKey, DecodeError> {
        let mut reader = Reader::of_shared(key, "key of a binding");
        let vhost = string(&mut reader)?;
        let source = string(&mut reader)?;
        let routing_key = string(&mut reader)?;
        let to_exchange = match reader.u8()? {
            0 => false,
            1 => true,
            other => return Err(reader.error(format!("{other} found where 0 or 1 should be"))),
        };
        let destination = string(&mut reader)?;
        let arguments = Headers::decode(key.slice(reader.at()..))?;
        Ok(BindingKey { vhost, source, routing_key, to_exchange, destination, arguments })
    }
}

/// AMQP's names have at most 255 bytes; more would not come back.
fn strings(list: &[&[u8]]) -> Bytes {
    let mut out = Vec::with_capacity(list.iter().map(|text| text.len() + 1).sum());
    for text in list {
        let text = &text[..text.len().min(usize::from(u8::MAX))];
        out.push(u8::try_from(text.len()).unwrap_or(u8::MAX));
        out.extend_from_slice(text);
    }
    out.into()
}

fn string(reader: &mut Reader<'_>) -> Result<Bytes, DecodeError> {
    let length = reader.u8()?;
    reader.shared(usize::from(length))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::header::{Header, Value};
    use crate::ids::StreamId;
    use crate::wire::Wire;

    #[test]
    fn keys_and_rows_come_back() {
        let text = |text: &'static str| Bytes::from_static(text.as_bytes());
        let arguments = Headers::new(&[Header::new("x-match", Value::Text("any".to_owned()))]).unwrap();
        let key = BindingKey {
            vhost: text("/"),
            source: text("x"),
            routing_key: text(""),
            to_exchange: false,
            destination: text("q"),
            arguments,
        };
        let encoded = key.encode();
        assert!(encoded.starts_with(&source_prefix(b"/", b"x")));
        assert_eq!(encoded[..8], *b"\x01/\x01x\x00\x00\x01q");
        assert_eq!(BindingKey::decode(&encoded).unwrap(), key);
        let row =
            BindingRow { version: ROW_VERSION, source: 0, destination: Destination::Queue(StreamId(7)) };
        let mut out = Vec::new();
        row.put(&mut out);
        assert_eq!(out, [1, 0, 1, 7]);
        let mut reader = Reader::new(&out, "binding");
        assert_eq!(BindingRow::get(&mut reader).unwrap(), row);
    }
}
