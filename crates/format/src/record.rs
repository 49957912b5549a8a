//! Records as values: owns what a record is before and after it has a place in a stream. Never knows how one
//! is stored.

use bytes::Bytes;

use crate::header::Headers;
use crate::ids::{Offset, Timestamp};

/// What a producer hands over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Any bytes, at most 128 MiB.
    pub body: Bytes,
    /// Typed headers.
    pub headers: Headers,
    /// When the producer says it happened, in milliseconds since the Unix epoch; kept, never interpreted.
    pub producer_timestamp: Option<Timestamp>,
}

impl Record {
    /// A record that is only a body.
    #[must_use]
    pub fn new(body: impl Into<Bytes>) -> Record {
        Record { body: body.into(), headers: Headers::none(), producer_timestamp: None }
    }

    /// Bytes of body and encoded headers.
    #[must_use]
    pub fn byte_len(&self) -> u64 {
        (self.body.len() + self.headers.encoded().len()) as u64
    }
}

/// A record in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRecord {
    /// Its position in the stream.
    pub offset: Offset,
    /// When the owner took it; never decreases within a stream.
    pub timestamp: Timestamp,
    /// The record.
    pub record: Record,
}
