//! `POST /name`: records are there afterwards, or the stream is sealed, or both.
//!
//! Owns the way from the request to an append and from its receipt to a reply. Guarantees that a stream which cannot be
//! appended to at all is refused before its body is taken. Never decides whether an append may happen: the order of
//! those checks (P16) is the engine's.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, request};
use kelda_service::{AppendRequest, Operation, Problem, Receipt};

use super::app::App;
use super::form::{self, Form};
use super::refusal::Refusal;
use super::{body, describe, fields, name, offset, request as sent};

/// Fields of a usual answer, and of what every reply carries: room is made for them once.
const USUAL_FIELDS: usize = 12;

/// Answers an append.
///
/// # Errors
/// What the client gets instead.
pub async fn append(app: &App, parts: &request::Parts, body: Body) -> Result<Response<Body>, Refusal> {
    let headers = &parts.headers;
    let name = name::of(&parts.uri)?;
    let content_type = sent::content_type(headers)?.map(str::to_owned);
    let request = AppendRequest {
        seal: sent::closes(headers),
        producer: sent::producer(headers)?,
        match_offset: sent::match_offset(headers)?,
        stream_seq: sent::stream_seq(headers)?,
        if_stream: sent::if_stream(headers)?,
        ..AppendRequest::default()
    };
    app.service.find(&app.caller(), Operation::Append, &name, request.if_stream)?;
    let form = content_type.as_deref().map_or(Form::Plain, form::of_content_type);
    let spooled = body::spool(app, headers, body, body::limit(form)).await?;
    if content_type.is_none() && !spooled.bytes.is_empty() {
        return Err(Refusal::new(Problem::MissingContentType, "an append with a body needs a Content-Type"));
    }
    let content = body::content(app, &spooled.bytes, form).await?;
    let plain = !content.is_empty();
    let content_type = content_type.filter(|_| form == Form::Plain);
    let receipt =
        app.service.append(&app.caller(), &name, AppendRequest { content, content_type, ..request }).await?;
    let mut response = Response::new(Body::empty());
    // The protocol's section 5.2.1: 200 for new data of a producer, 204 for everything else.
    let fresh = receipt.producer.is_some() && plain && !receipt.duplicate;
    *response.status_mut() = if fresh { StatusCode::OK } else { StatusCode::NO_CONTENT };
    let headers = response.headers_mut();
    headers.reserve(USUAL_FIELDS);
    headers.insert(fields::KELDA_STREAM_ID, HeaderValue::from(receipt.stream.0));
    headers.insert(fields::STREAM_NEXT_OFFSET, offset::value(receipt.next));
    describe::put_true(headers, fields::STREAM_CLOSED, receipt.sealed);
    put_receipt(headers, &receipt);
    Ok(response)
}

/// What an append got, beside the tail.
pub(super) fn put_receipt(headers: &mut HeaderMap, receipt: &Receipt) {
    if let Some(first) = receipt.first.filter(|first| *first < receipt.next) {
        headers.insert(fields::KELDA_FIRST_OFFSET, offset::value(first));
        if let Some(timestamp) = receipt.timestamp {
            headers.insert(fields::KELDA_TIMESTAMP, HeaderValue::from(timestamp.0));
        }
    }
    describe::put_true(headers, fields::KELDA_DUPLICATE, receipt.duplicate);
    if let Some((epoch, seq)) = receipt.producer {
        headers.insert(fields::PRODUCER_EPOCH, HeaderValue::from(epoch));
        headers.insert(fields::PRODUCER_SEQ, HeaderValue::from(seq));
    }
}
