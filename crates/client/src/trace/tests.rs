//! What handlers send carries the trace on, by itself and with the spans of OpenTelemetry.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::collections::HashMap;

use kelda_format::{Offset, Record, StoredRecord, StreamId, Timestamp, Value};
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::TracerProvider;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::layer::SubscriberExt;

use super::*;
use crate::message::Origin;
use crate::outgoing::Outgoing;

const WRITER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

fn message(headers: &[Header]) -> Message<()> {
    let record = Record { headers: Headers::new(headers).unwrap(), ..Record::new("x") };
    let record = StoredRecord { offset: Offset(42), timestamp: Timestamp(1_000), record };
    let (stream, content_type) = ("events".to_owned(), "text/plain".to_owned());
    Message::new((), record, Arc::new(Origin { stream, stream_id: StreamId(7), content_type }))
}

fn traced(tracing: &Tracing, outgoing: Outgoing<'_, ()>) -> Option<TraceContext> {
    let headers: Vec<Header> = tracing.complete(outgoing.headers).unwrap().iter().collect();
    message(&headers).trace_context()
}

fn writer() -> TraceContext {
    TraceContext::parse(WRITER, Some("a=b")).unwrap()
}

fn written() -> Message<()> {
    message(&writer().headers().collect::<Vec<_>>())
}

/// What a handler of `message` sends, at once and after a wait.
async fn handled(tracing: &Tracing, message: &Message<()>) -> [Option<TraceContext>; 2] {
    let hop = tracing.hop(message);
    let sent = hop.run(|| {
        let at_once = traced(tracing, Outgoing::new(&()));
        async move {
            tokio::task::yield_now().await;
            [at_once, traced(tracing, Outgoing::new(&()))]
        }
    });
    sent.await
}

#[tokio::test]
async fn what_a_handler_sends_is_of_the_same_trace() {
    let tracing = Tracing::default();
    let [one, two] = handled(&tracing, &written()).await;
    let one = one.unwrap();
    assert_eq!(Some(&one), two.as_ref(), "one hop has one id");
    assert_eq!((one.trace_id(), one.tracestate()), (writer().trace_id(), Some("a=b")));
    assert_ne!(one.parent_id(), writer().parent_id());
    assert!(one.traceparent().ends_with("-01") && TraceContext::parse(one.traceparent(), None).is_some());
    let [other, _] = handled(&tracing, &written()).await;
    assert_ne!(other.unwrap().parent_id(), one.parent_id(), "each hop has its own");
    assert_eq!(traced(&tracing, Outgoing::new(&())), None, "outside of a handler there is no trace");
    assert_eq!(handled(&tracing, &message(&[])).await, [None, None]);
}

#[tokio::test]
async fn what_is_set_stays_and_it_can_be_turned_off() {
    let off = Tracing { off: true, propagator: None };
    assert_eq!(handled(&off, &written()).await, [None, None]);
    let own = TraceContext::parse("00-11111111111111111111111111111111-2222222222222222-00", None).unwrap();
    let tracing = Tracing::default();
    let sent = writer().scope(async { traced(&tracing, Outgoing::new(&()).trace_context(&own)) }).await;
    assert_eq!(sent, Some(own));
}

#[tokio::test]
async fn what_was_caused_within_the_handler_goes_on_from_it() {
    let message = written();
    let tracing = Tracing::default();
    let caused = || traced(&tracing, Outgoing::new(&()).caused_by(&message)).unwrap();
    let (inside, current) =
        tracing.hop(&message).run(|| async { (caused(), TraceContext::current().unwrap()) }).await;
    assert_eq!(inside, current);
    assert_eq!(caused(), writer(), "elsewhere there is no hop between");
    let elsewhere =
        TraceContext::parse("00-11111111111111111111111111111111-2222222222222222-00", None).unwrap();
    assert_eq!(elsewhere.scope(async { caused() }).await, writer(), "another trace is not of the message");
}

#[tokio::test]
async fn a_trace_that_does_not_fit_is_left_out() {
    let context = TraceContext::parse(WRITER, None).unwrap();
    let most = (0..70_000).rev().map(|length| "x".repeat(length));
    let fits = |value: String| Headers::new(&[Header::new("big", Value::Text(value))]).is_ok();
    let largest = most.into_iter().find(|value| fits(value.clone())).unwrap();
    let tracing = Tracing::default();
    let sent = context.scope(async { traced(&tracing, Outgoing::new(&()).header("big", largest)) }).await;
    assert_eq!(sent, None);
}

struct OpenTelemetry;

impl Propagator for OpenTelemetry {
    fn current(&self) -> Option<TraceContext> {
        let mut headers = HashMap::new();
        TraceContextPropagator::new().inject_context(&tracing::Span::current().context(), &mut headers);
        TraceContext::parse(headers.get("traceparent")?, headers.get("tracestate").map(String::as_str))
    }

    fn attach(&self, span: &tracing::Span, writer: &TraceContext) {
        let headers = HashMap::from([("traceparent".to_owned(), writer.traceparent().to_owned())]);
        let _ = span.set_parent(TraceContextPropagator::new().extract(&headers));
    }
}

/// A first service writes within a span of its own; a second handles that and writes to another stream; a third handles that.
#[test]
fn one_trace_goes_over_two_streams() {
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
    let tracing = Tracing { off: false, propagator: Some(Arc::new(OpenTelemetry)) };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
        runtime.block_on(async {
            let order = async { traced(&tracing, Outgoing::new(&())) };
            let order = order.instrument(tracing::info_span!("order")).await.unwrap();
            let order = message(&order.headers().collect::<Vec<_>>());
            let [invoice, _] = handled(&tracing, &order).await;
            let invoice = message(&invoice.unwrap().headers().collect::<Vec<_>>());
            handled(&tracing, &invoice).await;
        });
    });
    let spans = exporter.get_finished_spans().unwrap();
    let [order, first, second] = spans.as_slice() else { panic!("{spans:?}") };
    assert_eq!((&*order.name, &*first.name, &*second.name), ("order", "kelda.handle", "kelda.handle"));
    let id = order.span_context.trace_id();
    assert_eq!((first.span_context.trace_id(), second.span_context.trace_id()), (id, id));
    assert_eq!(first.parent_span_id, order.span_context.span_id());
    assert_eq!(second.parent_span_id, first.span_context.span_id());
}
