//! Consumer tags that the node chooses.
//!
//! Owns their forms. Guarantees that a consumer which asks for its place is told the life of the stream and the offset that it
//! begins at: AMQP has no other place for them. Pure.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kelda_format::{Offset, StreamId, Value};

use crate::amqp::wire::{Short, Table};

/// The consumer argument that asks for the place; RabbitMQ knows it not and ignores it.
const PLACE: &str = "x-kelda-position";

/// Whether a consumer that leaves its tag to the node asks for its place.
pub fn asks_for_place(arguments: &Table) -> bool {
    arguments.value(PLACE) == Some(&Value::Bool(true))
}

/// A tag as RabbitMQ makes them.
pub fn plain(nonce: [u8; 16]) -> Short {
    Short::from(format!("amq.ctag-{}", URL_SAFE_NO_PAD.encode(nonce)).as_str())
}

/// A tag that tells the place of a consumer: the stream and the first offset.
pub fn placed(stream: StreamId, first: Offset, nonce: [u8; 16]) -> Short {
    Short::from(format!("kelda.{}.{}.{}", stream.0, first.0, URL_SAFE_NO_PAD.encode(nonce)).as_str())
}
