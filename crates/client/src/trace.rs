//! Traces over streams: owns how the trace of an entry is carried on to what its handler sends, guarantees that what a
//! caller sets itself is never replaced. Never begins a trace.

use std::fmt;
use std::sync::Arc;

use kelda_format::{Header, Headers, LimitError};
use tokio::task::futures::TaskLocalFuture;
use tracing::Span;
use tracing::instrument::{Instrument, Instrumented};

use crate::envelope::{TRACEPARENT, TraceContext};
use crate::message::Message;

tokio::task_local! {
    /// The trace of the entry that this task handles.
    static CURRENT: Option<TraceContext>;
}

/// Joins the traces of streams to spans of another library; see [`Builder::propagator`](crate::Builder::propagator).
///
/// Each entry is handled in a `tracing` span `kelda.handle` of level debug and target `kelda_client`, which a subscriber has
/// to let through. For OpenTelemetry, with `tracing-opentelemetry`:
///
/// ```
/// use std::collections::HashMap;
///
/// use kelda_client::{Propagator, TraceContext};
/// use opentelemetry::propagation::TextMapPropagator;
/// use opentelemetry_sdk::propagation::TraceContextPropagator;
/// use tracing_opentelemetry::OpenTelemetrySpanExt;
///
/// struct OpenTelemetry;
///
/// impl Propagator for OpenTelemetry {
///     fn current(&self) -> Option<TraceContext> {
///         let mut headers = HashMap::new();
///         TraceContextPropagator::new().inject_context(&tracing::Span::current().context(), &mut headers);
///         TraceContext::parse(headers.get("traceparent")?, headers.get("tracestate").map(String::as_str))
///     }
///
///     fn attach(&self, span: &tracing::Span, writer: &TraceContext) {
///         let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
///         let state = writer.tracestate().map(|state| header("tracestate", state));
///         let headers: HashMap<_, _> =
///             state.into_iter().chain([header("traceparent", writer.traceparent())]).collect();
///         let _ = span.set_parent(TraceContextPropagator::new().extract(&headers));
///     }
/// }
///
/// # fn example() -> Result<(), kelda_client::Error> {
/// let kelda = kelda_client::Kelda::builder("http://127.0.0.1:4437").propagator(OpenTelemetry).build()?;
/// # Ok(()) }
/// ```
pub trait Propagator: Send + Sync + 'static {
    /// The context of the span that is current: what is sent now carries it on. `None` when there is no such span.
    fn current(&self) -> Option<TraceContext>;

    /// Makes `span`, in which an entry is handled, the child of the span that wrote the entry.
    fn attach(&self, span: &Span, writer: &TraceContext);
}

/// Whether and how traces are carried on.
#[derive(Clone, Default)]
pub(crate) struct Tracing {
    pub(crate) off: bool,
    pub(crate) propagator: Option<Arc<dyn Propagator>>,
}

impl fmt::Debug for Tracing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let propagator = self.propagator.is_some();
        f.debug_struct("Tracing").field("off", &self.off).field("propagator", &propagator).finish()
    }
}

/// A future that runs in a hop.
type Within<F> = Instrumented<TaskLocalFuture<Option<TraceContext>, F>>;

/// What one entry is handled in.
pub(crate) struct Hop {
    span: Span,
    context: Option<TraceContext>,
}

impl Tracing {
    /// The span and the trace that an entry is handled in.
    pub(crate) fn hop<T>(&self, message: &Message<T>) -> Hop {
        let span = tracing::debug_span!(
            target: "kelda_client",
            "kelda.handle",
            stream = message.stream(),
            offset = message.offset(),
            trace_id = tracing::field::Empty,
            parent_id = tracing::field::Empty,
            span_id = tracing::field::Empty
        );
        if self.off && span.is_disabled() {
            return Hop { span, context: None };
        }
        let writer = message.trace_context();
        let context = writer.as_ref().filter(|_| !self.off).map(TraceContext::child);
        if !span.is_disabled()
            && let Some(writer) = &writer
        {
            span.record("trace_id", writer.trace_id()).record("parent_id", writer.parent_id());
            if let Some(propagator) = self.propagator.as_ref().filter(|_| !self.off) {
                propagator.attach(&span, writer);
            } else if let Some(context) = &context {
                span.record("span_id", context.parent_id());
            }
        }
        Hop { span, context }
    }

    /// The headers of a record that is sent now: with the trace, unless they have one or it does not fit.
    pub(crate) fn complete(&self, mut headers: Vec<Header>) -> Result<Headers, LimitError> {
        let own = headers.len();
        if let Some(context) = self.current()
            && !headers.iter().any(|header| header.name == TRACEPARENT)
        {
            headers.extend(context.headers());
        }
        match headers.as_slice() {
            [] => Ok(Headers::none()),
            all if all.len() == own => Headers::new(all),
            all => Headers::new(all).or_else(|_| Headers::new(&all[..own])),
        }
    }

    fn current(&self) -> Option<TraceContext> {
        if self.off {
            return None;
        }
        let span = self.propagator.as_ref().and_then(|propagator| propagator.current());
        span.or_else(TraceContext::current)
    }
}

impl Hop {
    /// Calls a handler within the hop, and gives what runs the rest of it there.
    pub(crate) fn run<F: Future>(self, handler: impl FnOnce() -> F) -> Within<F> {
        let Hop { span, context } = self;
        let future = span.in_scope(|| CURRENT.sync_scope(context.clone(), handler));
        CURRENT.scope(context, future).instrument(span)
    }
}

impl TraceContext {
    /// The trace of the entry that is being handled, as what is sent now carries it on; `None` outside of a handler, and in
    /// one whose entry has no trace.
    #[must_use]
    pub fn current() -> Option<TraceContext> {
        CURRENT.try_with(Clone::clone).ok().flatten()
    }

    /// Runs `future` so that what it sends carries this trace on, as in a handler: for loops of one's own, and for tasks
    /// that a handler starts.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// use kelda_client::TraceContext;
    /// let context = TraceContext::parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", None).unwrap();
    /// let inside = context.clone().scope(async { TraceContext::current() }).await;
    /// assert_eq!(inside, Some(context));
    /// assert_eq!(TraceContext::current(), None);
    /// # });
    /// ```
    pub async fn scope<F: Future>(self, future: F) -> F::Output {
        CURRENT.scope(Some(self), future).await
    }
}

#[cfg(test)]
mod tests;
