//! From a request to who answers it.
//!
//! Owns the routes of the HTTP front end and what every reply gets on its way out. Guarantees that every request is
//! answered, with a problem when nothing else is right.

use std::sync::Arc;

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, Request, Response, header};
use futures::FutureExt;
use futures::future::BoxFuture;
use hyper::body::Incoming;
use kelda_format::limits::MAX_HEADER_BLOCK_BYTES;
use kelda_service::Problem;

use super::app::App;
use super::refusal::Refusal;
use super::{append, cors, create, manage, read};
use crate::net::{Pulse, Site};

/// The front end of a node that serves.
pub struct Streams(pub App);

impl Site for Streams {
    fn answer(
        &self,
        request: Request<Incoming>,
        pulse: Option<Arc<Pulse>>,
    ) -> BoxFuture<'static, Response<Body>> {
        let app = self.0.clone();
        async move {
            let (parts, body) = request.into_parts();
            let answer = if parts.uri.path() == "/" {
                root(&app, &parts)
            } else {
                stream(&app, &parts, body, pulse).await
            };
            finish(&app, &parts.headers, answer)
        }
        .boxed()
    }
}

/// The front end of a node that does not serve yet.
pub struct Waiting;

impl Site for Waiting {
    fn answer(&self, _: Request<Incoming>, _: Option<Arc<Pulse>>) -> BoxFuture<'static, Response<Body>> {
        let refusal = Refusal::new(Problem::Unavailable, "this node is starting: come back");
        std::future::ready(cors::dress(None, refusal.into_response())).boxed()
    }
}

/// The root: which streams there are.
fn root(app: &App, parts: &Parts) -> Result<Response<Body>, Refusal> {
    match parts.method {
        Method::GET | Method::HEAD => manage::list(app, parts),
        Method::OPTIONS => Ok(cors::options()),
        _ => Err(refuse_method(&parts.method, "GET, HEAD, OPTIONS")),
    }
}

/// Everything else is the name of a stream.
async fn stream(
    app: &App,
    parts: &Parts,
    body: Incoming,
    pulse: Option<Arc<Pulse>>,
) -> Result<Response<Body>, Refusal> {
    check(&parts.headers)?;
    match parts.method {
        Method::GET => read::read(app, parts, pulse).await,
        Method::HEAD => manage::head(app, parts),
        Method::PUT => create::create(app, parts, Body::new(body)).await,
        Method::POST => append::append(app, parts, Body::new(body)).await,
        Method::PATCH => manage::patch(app, parts).await,
        Method::DELETE => manage::delete(app, parts).await,
        Method::OPTIONS => Ok(cors::options()),
        _ => Err(refuse_method(&parts.method, cors::METHODS)),
    }
}

/// HTTP/1.1 cuts a header block by itself; HTTP/2 counts it packed.
fn check(headers: &HeaderMap) -> Result<(), Refusal> {
    let bytes: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    if bytes > MAX_HEADER_BLOCK_BYTES {
        let detail =
            format!("the header fields have {bytes} bytes, at most {MAX_HEADER_BLOCK_BYTES} allowed");
        return Err(Refusal::new(Problem::HeadersTooLarge, detail));
    }
    Ok(())
}

fn refuse_method(method: &Method, allowed: &'static str) -> Refusal {
    Refusal::new(
        Problem::MethodNotAllowed,
        format!("{method} is not a method of this path: there are {allowed}"),
    )
    .with_header(header::ALLOW, axum::http::HeaderValue::from_static(allowed))
}

fn finish(app: &App, headers: &HeaderMap, answer: Result<Response<Body>, Refusal>) -> Response<Body> {
    let response = answer.unwrap_or_else(Refusal::into_response);
    if headers.contains_key(header::ORIGIN) {
        cors::dress(Some(&app.allowed_origin()), response)
    } else {
        cors::dress(None, response)
    }
}
