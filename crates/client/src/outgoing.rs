//! What a producer is handed: owns a payload with the headers that go with it. Never encodes the payload.

use kelda_format::{Header, Timestamp, Value};

use crate::envelope::{self, TraceContext};
use crate::message::Message;

/// A payload and what stands around it.
///
/// ```
/// use kelda_client::Outgoing;
/// let message = Outgoing::new(&42).message_type("answer").header("attempts", 3_u8);
/// assert_eq!(message.headers().len(), 2);
/// ```
#[derive(Clone, Debug)]
pub struct Outgoing<'a, T: ?Sized> {
    pub(crate) payload: &'a T,
    pub(crate) headers: Vec<Header>,
    pub(crate) timestamp: Option<Timestamp>,
}

impl<'a, T: ?Sized> Outgoing<'a, T> {
    /// A payload without headers.
    #[must_use]
    pub fn new(payload: &'a T) -> Outgoing<'a, T> {
        Outgoing { payload, headers: Vec::new(), timestamp: None }
    }

    /// Adds a header; names may repeat.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl IntoValue) -> Self {
        self.headers.push(Header::new(name, value.into_value()));
        self
    }

    /// A unique id, instead of `{stream id}-{offset}`.
    #[must_use]
    pub fn message_id(self, id: impl Into<String>) -> Self {
        self.header(envelope::MESSAGE_ID, id.into())
    }

    /// What kind of message it is.
    #[must_use]
    pub fn message_type(self, kind: impl Into<String>) -> Self {
        self.header(envelope::TYPE, kind.into())
    }

    /// What it belongs to.
    #[must_use]
    pub fn correlation_id(self, id: impl Into<String>) -> Self {
        self.header(envelope::CORRELATION_ID, id.into())
    }

    /// The id of the message that caused it.
    #[must_use]
    pub fn causation_id(self, id: impl Into<String>) -> Self {
        self.header(envelope::CAUSATION_ID, id.into())
    }

    /// The trace that it is part of.
    #[must_use]
    pub fn trace_context(mut self, context: &TraceContext) -> Self {
        self.headers.extend(context.headers());
        self
    }

    /// Was caused by a message: its id becomes the causation, its correlation (or else its id) the correlation, and its
    /// trace goes on: from the handler's hop when this is called in a handler of that trace.
    #[must_use]
    pub fn caused_by<M>(self, message: &Message<M>) -> Self {
        let id = message.id();
        let caused =
            self.correlation_id(message.correlation_id().unwrap_or_else(|| id.clone())).causation_id(id);
        let trace = message.trace_context().map(|writer| match TraceContext::current() {
            Some(hop) if hop.trace_id() == writer.trace_id() => hop,
            _ => writer,
        });
        match trace {
            Some(context) => caused.trace_context(&context),
            None => caused,
        }
    }

    /// When it happened, by the producer's clock, in milliseconds since 1970; kept beside the server's time.
    #[must_use]
    pub fn producer_timestamp(self, timestamp: Timestamp) -> Self {
        Outgoing { timestamp: Some(timestamp), ..self }
    }

    /// The headers so far.
    #[must_use]
    pub fn headers(&self) -> &[Header] {
        &self.headers
    }
}

/// What may be the value of a header.
pub trait IntoValue {
    /// The typed value.
    fn into_value(self) -> Value;
}

impl IntoValue for Value {
    fn into_value(self) -> Value {
        self
    }
}

macro_rules! into_value {
    ($($from:ty => $kind:ident),*) => {
        $(impl IntoValue for $from {
            fn into_value(self) -> Value {
                Value::$kind(self.into())
            }
        })*
    };
}

into_value!(
    String => Text, &str => Text, bytes::Bytes => Bytes, bool => Bool,
    i8 => I8, u8 => U8, i16 => I16, u16 => U16, i32 => I32, u32 => U32, i64 => I64, u64 => U64, f32 => F32, f64 => F64
);
