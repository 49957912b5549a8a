//! `PUT /name`: a stream is there afterwards.
//!
//! Owns the way from the request to a creation and from its outcome to a reply. Guarantees that the reply carries the
//! configuration that is in force, whether the stream is new, was there, or is another one than asked for.

use axum::body::Body;
use axum::http::{HeaderMap, Response, StatusCode, Uri, header, request};
use kelda_format::name::StreamName;
use kelda_service::{Content, CreateError, CreateRequest, Created, Operation, Problem, StreamConfig};

use super::app::App;
use super::form::{self, Form};
use super::refusal::Refusal;
use super::{body, describe, fields, name, request as sent};

/// Answers a creation.
///
/// # Errors
/// What the client gets instead.
pub async fn create(app: &App, parts: &request::Parts, body: Body) -> Result<Response<Body>, Refusal> {
    let headers = &parts.headers;
    let name = name::of(&parts.uri)?;
    refuse_fork(headers)?;
    let content_type = sent::content_type(headers)?.map(str::to_owned);
    if content_type.as_deref().is_some_and(|given| form::of_content_type(given) != Form::Plain) {
        let detail = "this type is a format of POST bodies: create the stream with the type of its records";
        return Err(Refusal::header(&fields::CONTENT_TYPE, detail));
    }
    let config = StreamConfig {
        content_type,
        expiry: Some(sent::expiry(headers)?),
        retention: sent::retention(headers)?,
        ..StreamConfig::default()
    };
    let seal = sent::closes(headers);
    if let Some(stream) = sent::if_stream(headers)? {
        app.service.find(&app.caller(), Operation::Create, &name, Some(stream))?;
    }
    let spooled = body::spool(app, headers, body, body::limit(Form::Plain)).await?;
    let content = Content::Body(spooled.bytes.clone());
    let request = CreateRequest { name: name.clone(), config, content, seal: Some(seal) };
    match app.service.create(&app.caller(), request).await {
        Ok(created) => Ok(answer(parts, &name, &created)),
        Err(error) => Err(conflict(error)),
    }
}

/// A fork that were created as a plain stream would lack what it is forked from.
fn refuse_fork(headers: &HeaderMap) -> Result<(), Refusal> {
    let asked = [fields::STREAM_FORKED_FROM, fields::STREAM_FORK_OFFSET, fields::STREAM_FORK_SUB_OFFSET];
    match asked.iter().find(|name| headers.contains_key(*name)) {
        Some(name) => {
            let detail = format!("{}: this version has no forks", fields::title(name));
            Err(Refusal::new(Problem::NotImplemented, detail))
        }
        None => Ok(()),
    }
}

fn answer(parts: &request::Parts, name: &StreamName, created: &Created) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = if created.new { StatusCode::CREATED } else { StatusCode::OK };
    let headers = response.headers_mut();
    describe::put_configuration(headers, &created.info);
    describe::put(headers, header::CONTENT_TYPE, &created.info.content_type);
    if created.new {
        describe::put(headers, header::LOCATION, location(&parts.uri, &parts.headers, name));
    }
    if let Some(receipt) = &created.receipt {
        super::append::put_receipt(headers, receipt);
    }
    response
}

/// The URL of the stream, as the client called this server.
fn location(uri: &Uri, headers: &HeaderMap, name: &StreamName) -> String {
    let host = headers.get(header::HOST).and_then(|value| value.to_str().ok());
    let host = uri.authority().map(|authority| authority.as_str()).or(host);
    let path = name::path(name);
    host.map_or_else(|| path.clone(), |host| format!("http://{host}{path}"))
}

/// A refused creation; a conflict carries the configuration of the stream that is there.
fn conflict(error: CreateError) -> Refusal {
    let mut fields = HeaderMap::new();
    if let CreateError::Conflict { info, .. } = &error {
        describe::put_configuration(&mut fields, info);
    }
    let mut refusal = Refusal::from(error);
    for (name, value) in fields {
        if let Some(name) = name {
            refusal = refusal.with_header(name, value);
        }
    }
    refusal
}
