//! What a reader hands over: owns a record with its payload and its place. Guarantees that every message has an id and
//! says its offset among its headers. Never keeps more of a page alive than the record it is of.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use kelda_format::{Header, Headers, StoredRecord, StreamId, Timestamp, Value};

use crate::envelope::{self, TraceContext};

/// The id of a stream that the server does not tell: no stream has it.
pub(crate) const UNKNOWN: StreamId = StreamId(0);

/// The stream that messages are of.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) stream: String,
    pub(crate) stream_id: StreamId,
    pub(crate) content_type: String,
}

/// One entry of a stream, decoded.
///
/// ```no_run
/// # async fn example(kelda: kelda_client::Kelda) -> Result<(), kelda_client::Error> {
/// let reader = kelda.stream::<serde_json::Value>("orders").consume(|message| async move {
///     println!("{} at {} of {}: {}", message.id(), message.offset(), message.stream(), message.payload());
///     if let Some(attempts) = message.header_text("attempts") {
///         println!("after {attempts} attempts");
///     }
/// });
/// # reader.await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Message<T> {
    payload: T,
    record: StoredRecord,
    origin: Arc<Origin>,
    /// The record's own, where the stream has none that is known.
    content_type: Option<String>,
}

impl<T> Message<T> {
    pub(crate) fn new(payload: T, record: StoredRecord, origin: Arc<Origin>) -> Message<T> {
        let own = || record.record.headers.get(envelope::CONTENT_TYPE).and_then(envelope::text);
        let content_type = if origin.content_type.is_empty() { own() } else { None };
        Message { payload, record, origin, content_type }
    }

    /// The payload.
    #[must_use]
    pub fn payload(&self) -> &T {
        &self.payload
    }

    /// The payload by itself.
    #[must_use]
    pub fn into_payload(self) -> T {
        self.payload
    }

    /// The bytes that the payload was decoded from.
    #[must_use]
    pub fn body(&self) -> &Bytes {
        &self.record.record.body
    }

    /// The record as it is stored.
    #[must_use]
    pub fn record(&self) -> &StoredRecord {
        &self.record
    }

    /// The position in the stream.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.record.offset.0
    }

    /// When the server took it, in milliseconds since 1970; never decreases within a stream. AMQP does not tell it: there it is
    /// the publisher's property `timestamp`, or 0.
    #[must_use]
    pub fn timestamp(&self) -> Timestamp {
        self.record.timestamp
    }

    /// The same as a time of the system's clock.
    #[must_use]
    pub fn time(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_millis(self.record.timestamp.0)
    }

    /// When the producer said that it happened, if it did.
    #[must_use]
    pub fn producer_timestamp(&self) -> Option<Timestamp> {
        self.record.record.producer_timestamp
    }

    /// The name of the stream.
    #[must_use]
    pub fn stream(&self) -> &str {
        &self.origin.stream
    }

    /// The identity of this life of the name; 0 when the server does not tell it, as RabbitMQ.
    #[must_use]
    pub fn stream_id(&self) -> StreamId {
        self.origin.stream_id
    }

    /// The MIME type of the stream's records; over AMQP, where a stream has none, the message's property `content-type`. Empty
    /// when it is not known.
    #[must_use]
    pub fn content_type(&self) -> &str {
        self.content_type.as_deref().unwrap_or(&self.origin.content_type)
    }

    /// The headers in order, and `x-stream-offset` last.
    #[must_use]
    pub fn headers(&self) -> Vec<Header> {
        let own = self.record.record.headers.iter().filter(|header| header.name != envelope::STREAM_OFFSET);
        own.chain(std::iter::once(Header::new(envelope::STREAM_OFFSET, self.offset_value()))).collect()
    }

    /// The headers that the producer gave, as they are stored.
    #[must_use]
    pub fn record_headers(&self) -> &Headers {
        &self.record.record.headers
    }

    /// The value of the first header of this name; `x-stream-offset` is always there.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<Value> {
        if name == envelope::STREAM_OFFSET {
            return Some(self.offset_value());
        }
        self.record.record.headers.get(name)
    }

    /// The text of the first header of this name, when it is text.
    #[must_use]
    pub fn header_text(&self, name: &str) -> Option<String> {
        self.header(name).and_then(envelope::text)
    }

    /// A unique id: that of the producer, or `{stream id}-{offset}` when it gave none, with the stream's name in place of an id
    /// that is not known.
    #[must_use]
    pub fn id(&self) -> String {
        let own = self.header_text(envelope::MESSAGE_ID);
        own.unwrap_or_else(|| match self.origin.stream_id {
            UNKNOWN => format!("{}-{}", self.origin.stream, self.offset()),
            id => format!("{id}-{}", self.offset()),
        })
    }

    /// What kind of message it is, if the producer said.
    #[must_use]
    pub fn message_type(&self) -> Option<String> {
        self.header_text(envelope::TYPE)
    }

    /// What it belongs to, if the producer said.
    #[must_use]
    pub fn correlation_id(&self) -> Option<String> {
        self.header_text(envelope::CORRELATION_ID)
    }

    /// The id of the message that it was caused by, if the producer said.
    #[must_use]
    pub fn causation_id(&self) -> Option<String> {
        self.header_text(envelope::CAUSATION_ID)
    }

    /// The W3C trace context, if there is a sound one.
    #[must_use]
    pub fn trace_context(&self) -> Option<TraceContext> {
        let traceparent = self.header_text(envelope::TRACEPARENT)?;
        TraceContext::parse(&traceparent, self.header_text(envelope::TRACESTATE).as_deref())
    }

    fn offset_value(&self) -> Value {
        Value::I64(i64::try_from(self.record.offset.0).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use kelda_format::{Offset, Record};

    use super::*;

    fn message(headers: &[Header]) -> Message<()> {
        let record = Record { headers: Headers::new(headers).unwrap_or_default(), ..Record::new("x") };
        let record = StoredRecord { offset: Offset(42), timestamp: Timestamp(1_000), record };
        let (stream, content_type) = ("events".to_owned(), "text/plain".to_owned());
        Message::new((), record, Arc::new(Origin { stream, stream_id: StreamId(7), content_type }))
    }

    #[test]
    fn every_message_has_an_id_and_says_its_offset() {
        let bare = message(&[]);
        assert_eq!(bare.id(), "7-42");
        assert_eq!(bare.header(envelope::STREAM_OFFSET), Some(Value::I64(42)));
        assert_eq!(bare.headers(), [Header::new(envelope::STREAM_OFFSET, Value::I64(42))]);
        assert_eq!(bare.time(), SystemTime::UNIX_EPOCH + Duration::from_secs(1));
    }

    #[test]
    fn the_envelope_is_in_the_headers_and_the_offset_cannot_be_feigned() {
        let text = |name: &str, value: &str| Header::new(name, Value::Text(value.to_owned()));
        let traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let message = message(&[
            Header::new(envelope::MESSAGE_ID, Value::ShortString("m1".to_owned())),
            text(envelope::TYPE, "placed"),
            text(envelope::CORRELATION_ID, "c1"),
            text(envelope::CAUSATION_ID, "m0"),
            text(envelope::TRACEPARENT, traceparent),
            text(envelope::STREAM_OFFSET, "1"),
        ]);
        assert_eq!((message.id(), message.message_type()), ("m1".to_owned(), Some("placed".to_owned())));
        assert_eq!(message.correlation_id().as_deref(), Some("c1"));
        assert_eq!(message.causation_id().as_deref(), Some("m0"));
        assert!(message.trace_context().is_some_and(|context| context.traceparent() == traceparent));
        assert_eq!(message.headers().len(), 6);
        assert_eq!(message.headers().last(), Some(&Header::new(envelope::STREAM_OFFSET, Value::I64(42))));
    }
}
