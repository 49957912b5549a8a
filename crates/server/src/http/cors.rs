//! What browsers have to be told.
//!
//! Owns the fields for reading across origins, made from the one list of fields, and those against sniffing and
//! embedding. Guarantees that every reply carries them, refusals included. Never allows credentials.

use std::sync::LazyLock;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode, header};

use super::fields::{self, Direction};

/// Methods that are answered, as the header fields list them.
pub const METHODS: &str = "GET, HEAD, PUT, POST, PATCH, DELETE, OPTIONS";
/// How long a browser may remember a preflight, in seconds: what Chromium allows at most.
const MAX_AGE: &str = "7200";

static REQUEST_FIELDS: LazyLock<HeaderValue> = LazyLock::new(|| value(&fields::list(Direction::Request)));
static REPLY_FIELDS: LazyLock<HeaderValue> = LazyLock::new(|| value(&fields::list(Direction::Response)));

fn value(text: &str) -> HeaderValue {
    // The list is made of names, so this cannot fail; an empty value would only say less.
    HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static(""))
}

/// Adds what every reply carries; `origin` is the origin that may read it, for a request that came from one.
#[must_use]
pub fn dress(origin: Option<&HeaderValue>, mut response: Response<Body>) -> Response<Body> {
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("cross-origin"),
    );
    if let Some(origin) = origin {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, REPLY_FIELDS.clone());
    }
    response
}

/// The reply to `OPTIONS`, which is also the preflight.
#[must_use]
pub fn options() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(header::ALLOW, HeaderValue::from_static(METHODS));
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(METHODS));
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, REQUEST_FIELDS.clone());
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(MAX_AGE));
    response
}
