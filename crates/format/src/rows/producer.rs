//! Rows of idempotent producers: own what a stream remembers of who wrote it, as of its committed tail (P15).

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use crate::wire::{DecodeError, Reader, Wire, wire_struct};
use crate::{Offset, StreamId, Timestamp};

/// The name that an idempotent producer chose for itself; 1 to 256 bytes, cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProducerId(pub Arc<str>);

impl ProducerId {
    /// Wraps a name; its length is checked where it comes in and again by `apply`.
    #[must_use]
    pub fn new(id: &str) -> ProducerId {
        ProducerId(Arc::from(id))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ProducerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for ProducerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Borrow<str> for ProducerId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl Wire for ProducerId {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }

    fn get(reader: &mut Reader<'_>) -> Result<ProducerId, DecodeError> {
        Ok(ProducerId(Wire::get(reader)?))
    }
}

wire_struct! {
    /// One remembered append of a producer.
    #[derive(Copy)]
    pub struct ProducerResult {
        /// Its sequence.
        pub seq: u64,
        /// The offset of its first record.
        pub first_offset: Offset,
        /// How many records it holds; 0 for an append that only sealed.
        pub count: u32,
    }

    /// What is known of one idempotent producer of one stream, as of the committed tail (P15).
    pub struct ProducerRow {
        /// The stream.
        pub stream: StreamId,
        /// Who.
        pub id: ProducerId,
        /// The producer's epoch, chosen by it.
        pub epoch: u64,
        /// The last accepted sequence of that epoch.
        pub seq: u64,
        /// The time of its last append.
        pub last_seen: Timestamp,
        /// The offset after its last record; when the stream starts there or later, none of its records is held.
        pub next_offset: Offset,
        /// Its last appends of this epoch, oldest first, at most 8.
        pub results: Vec<ProducerResult>,
    }
}
