//! `HEAD`, `DELETE` and `PATCH /name`, and `GET /`: what streams are, and what becomes of them.
//!
//! Guarantees that a DELETE with a query is refused, since whoever sends one means less than the whole stream.

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header, request};
use kelda_service::{ListRequest, Problem, RetentionPatch, StreamInfo};
use serde_json::json;

use super::app::App;
use super::query::{ListQuery, Parameters};
use super::refusal::Refusal;
use super::{describe, fields, name, request as sent};

/// Answers what a stream is.
///
/// # Errors
/// What the client gets instead.
pub fn head(app: &App, parts: &request::Parts) -> Result<Response<Body>, Refusal> {
    let name = name::of(&parts.uri)?;
    let info = app.service.head(&app.caller(), &name, sent::if_stream(&parts.headers)?)?;
    Ok(described(app, &info, StatusCode::OK))
}

/// Deletes a stream.
///
/// # Errors
/// What the client gets instead.
pub async fn delete(app: &App, parts: &request::Parts) -> Result<Response<Body>, Refusal> {
    let name = name::of(&parts.uri)?;
    if let Some(query) = parts.uri.query() {
        let first = query.split(['&', '=']).next().unwrap_or_default();
        let detail = "DELETE removes the whole stream and takes no parameters; to trim it, PATCH with Kelda-Trim-Before";
        return Err(Refusal::parameter(&super::offset::excerpt(first), detail));
    }
    let stream = app.service.delete(&app.caller(), &name, sent::if_stream(&parts.headers)?).await?;
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    describe::put(response.headers_mut(), fields::KELDA_STREAM_ID, stream.to_string());
    Ok(response)
}

/// Trims a stream, changes its retention, or both: trims first.
///
/// # Errors
/// What the client gets instead.
pub async fn patch(app: &App, parts: &request::Parts) -> Result<Response<Body>, Refusal> {
    let headers = &parts.headers;
    let name = name::of(&parts.uri)?;
    let if_stream = sent::if_stream(headers)?;
    let trim = sent::trim_before(headers)?;
    let change = sent::retention_patch(headers)?;
    let changes = change != RetentionPatch::default();
    if trim.is_none() && !changes {
        let detail = "nothing to do: PATCH takes Kelda-Trim-Before, Kelda-Max-Age, Kelda-Max-Bytes and Kelda-Segment-Bytes";
        return Err(Refusal::new(Problem::BadRequest, detail));
    }
    let mut info = None;
    if let Some(before) = trim {
        info = Some(app.service.trim(&app.caller(), &name, before, if_stream).await?);
    }
    if changes {
        let trimmed = info.as_ref().map(|info: &StreamInfo| info.stream);
        info = Some(app.service.update(&app.caller(), &name, change, trimmed.or(if_stream)).await?);
    }
    match info {
        Some(info) => Ok(described(app, &info, StatusCode::NO_CONTENT)),
        None => Err(Refusal::new(Problem::Internal, "a change without an outcome")),
    }
}

fn described(app: &App, info: &StreamInfo, status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    describe::put_all(headers, info, info.owner.and_then(|owner| app.address(owner)));
    if status == StatusCode::NO_CONTENT {
        headers.remove(header::CONTENT_TYPE);
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Answers which streams there are.
///
/// # Errors
/// What the client gets instead.
pub fn list(app: &App, parts: &request::Parts) -> Result<Response<Body>, Refusal> {
    let parameters = Parameters::parse(parts.uri.query())?;
    let query = ListQuery::new(&parameters)?;
    let request = ListRequest {
        prefix: query.prefix,
        start_after: query.start_after,
        limit: usize::try_from(query.limit).ok(),
    };
    let listing = app.service.list(&app.caller(), &request)?;
    let streams: Vec<_> = listing
        .streams
        .iter()
        .map(|info| describe::json(info, info.owner.and_then(|owner| app.address(owner))))
        .collect();
    let next = listing.next.map(|name| name.to_string());
    let mut response = Response::new(Body::from(json!({"streams": streams, "next": next}).to_string()));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}
