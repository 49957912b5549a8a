//! What stands around a payload: owns the names of the headers that say who a record is and where it comes from.
//! Guarantees that they are ordinary headers, readable by any client. Never invents one that was not set.

use kelda_format::{Header, Value};

use crate::random;

/// The MIME type of the body: AMQP's property `content-type`.
pub const CONTENT_TYPE: &str = "content-type";
/// A unique id of the message: AMQP's property `message-id`.
pub const MESSAGE_ID: &str = "message-id";
/// What kind of message it is: AMQP's property `type`.
pub const TYPE: &str = "type";
/// What the message belongs to: AMQP's property `correlation-id`.
pub const CORRELATION_ID: &str = "correlation-id";
/// The id of the message that this one was caused by.
pub const CAUSATION_ID: &str = "causation-id";
/// The W3C trace context.
pub const TRACEPARENT: &str = "traceparent";
/// The W3C trace state.
pub const TRACESTATE: &str = "tracestate";
/// The offset, among the headers of every message that a reader hands over.
pub const STREAM_OFFSET: &str = "x-stream-offset";

/// What a copy in a dead-letter stream says of its original, beside the headers of that.
pub mod dead {
    /// The name of the stream.
    pub const STREAM: &str = "x-dead-stream";
    /// The id of the stream.
    pub const STREAM_ID: &str = "x-dead-stream-id";
    /// The offset of the entry.
    pub const OFFSET: &str = "x-dead-offset";
    /// The time of the entry, in milliseconds since 1970.
    pub const TIMESTAMP: &str = "x-dead-timestamp";
    /// Why it could not be handled.
    pub const REASON: &str = "x-dead-reason";
}

/// The text of a header, of any of the types that hold text.
pub(crate) fn text(value: Value) -> Option<String> {
    match value {
        Value::Text(text) | Value::ShortString(text) => Some(text),
        Value::LongString(bytes) | Value::Bytes(bytes) => String::from_utf8(bytes.to_vec()).ok(),
        _ => None,
    }
}

/// A longer `tracestate` is dropped, as the specification allows from this length on.
const MAX_TRACESTATE_BYTES: usize = 512;

/// A W3C trace context: version 00.
///
/// ```
/// use kelda_client::TraceContext;
/// let context = TraceContext::parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", None).unwrap();
/// assert_eq!(context.trace_id(), "0af7651916cd43dd8448eb211c80319c");
/// assert_eq!(context.child().trace_id(), context.trace_id());
/// assert_ne!(context.child().parent_id(), context.parent_id());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceContext {
    traceparent: String,
    tracestate: Option<String>,
}

impl TraceContext {
    /// A context of the two headers as they travel; `None` when `traceparent` is none.
    #[must_use]
    pub fn parse(traceparent: &str, tracestate: Option<&str>) -> Option<TraceContext> {
        let parts: Vec<&str> = traceparent.split('-').collect();
        let hex = |text: &str, length: usize| {
            text.len() == length
                && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
        };
        let zero = |text: &str| text.bytes().all(|byte| byte == b'0');
        let &[version, trace, parent, flags] = parts.as_slice() else { return None };
        let sound = version == "00" && hex(trace, 32) && hex(parent, 16) && hex(flags, 2);
        (sound && !zero(trace) && !zero(parent)).then(|| TraceContext {
            traceparent: traceparent.to_owned(),
            tracestate: tracestate.filter(|state| state.len() <= MAX_TRACESTATE_BYTES).map(str::to_owned),
        })
    }

    /// The next hop of the trace: the same trace, with a parent id that no other has.
    #[must_use]
    pub fn child(&self) -> TraceContext {
        // An id of zeros is none.
        let id = random::seed().max(1);
        let traceparent = format!("{}-{id:016x}-{}", &self.traceparent[..35], &self.traceparent[53..]);
        TraceContext { traceparent, tracestate: self.tracestate.clone() }
    }

    /// The header `traceparent`.
    #[must_use]
    pub fn traceparent(&self) -> &str {
        &self.traceparent
    }

    /// The header `tracestate`.
    #[must_use]
    pub fn tracestate(&self) -> Option<&str> {
        self.tracestate.as_deref()
    }

    /// The id of the trace: 32 hexadecimal digits.
    #[must_use]
    pub fn trace_id(&self) -> &str {
        &self.traceparent[3..35]
    }

    /// The id of the span that wrote the message: 16 hexadecimal digits.
    #[must_use]
    pub fn parent_id(&self) -> &str {
        &self.traceparent[36..52]
    }

    pub(crate) fn headers(&self) -> impl Iterator<Item = Header> {
        let header = |name: &str, value: &str| Header::new(name, Value::Text(value.to_owned()));
        let state = self.tracestate.as_deref().map(|state| header(TRACESTATE, state));
        std::iter::once(header(TRACEPARENT, &self.traceparent)).chain(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_context_is_what_the_specification_says() {
        let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let context = TraceContext::parse(good, Some("a=b"));
        let parts = context.as_ref().map(|context| (context.trace_id(), context.parent_id()));
        assert_eq!(parts, Some(("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331")));
        for wrong in [
            "",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319cé-b7ad6b716920333-01",
        ] {
            assert_eq!(TraceContext::parse(wrong, None), None, "{wrong}");
        }
    }
}
