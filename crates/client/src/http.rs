//! The HTTP transport: owns the connection pool, guarantees that an error status becomes a typed problem and that every
//! wait ends, never retries by itself.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderMap};
use hyper::{Method, Request, Response};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use crate::endpoint;
use crate::error::{Error, Problem};
use crate::timer;

/// An error body larger than this is cut; problem documents are far smaller.
const MAX_PROBLEM_BYTES: usize = 64 * 1024;

/// How long an answer may take to begin, a slow request's body apart.
pub(crate) const ANSWER_LIMIT: Duration = Duration::from_secs(30);
/// How long a connection may take to be there.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// How long the next bytes of an answer may take to come.
const IDLE_LIMIT: Duration = Duration::from_secs(30);
/// A request gets a second more for each so many bytes of its body: slower lines are not waited for.
const BYTES_PER_SECOND: u64 = 128 * 1024;

/// One endpoint and its pool of connections.
#[derive(Clone, Debug)]
pub(crate) struct Http {
    endpoint: String,
    client: Client<HttpConnector, Full<Bytes>>,
}

/// A successful answer whose body has not been read.
pub(crate) struct Answer {
    pub(crate) headers: HeaderMap,
    body: Incoming,
    endpoint: String,
}

impl Http {
    pub(crate) fn new(endpoint: &str) -> Result<Self, Error> {
        let endpoint = endpoint::check(endpoint)?;
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(CONNECT_LIMIT));
        let client = Client::builder(TokioExecutor::new()).build(connector);
        Ok(Http { endpoint: endpoint.to_owned(), client })
    }

    /// Where requests go.
    pub(crate) fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Sends one request; `target` is the path with its query, already escaped.
    pub(crate) async fn send(
        &self,
        method: Method,
        target: &str,
        headers: &[(&str, String)],
        body: Bytes,
    ) -> Result<Answer, Error> {
        self.send_within(ANSWER_LIMIT, method, target, headers, body).await
    }

    /// The same, when the answer may take up to `limit` to begin.
    pub(crate) async fn send_within(
        &self,
        limit: Duration,
        method: Method,
        target: &str,
        headers: &[(&str, String)],
        body: Bytes,
    ) -> Result<Answer, Error> {
        let mut request = Request::builder().method(method).uri(format!("{}{target}", self.endpoint));
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let limit = limit + Duration::from_secs(body.len() as u64 / BYTES_PER_SECOND);
        let request = request.body(Full::new(body)).map_err(|error| Error::Protocol(error.to_string()))?;
        let response = timer::within(limit, self.client.request(request)).await;
        let response = response.ok_or_else(|| silent(&self.endpoint, limit))?;
        let response = response.map_err(|error| self.unreachable(&error))?;
        if response.status().is_success() {
            let (parts, body) = response.into_parts();
            return Ok(Answer { headers: parts.headers, body, endpoint: self.endpoint.clone() });
        }
        Err(self.problem(response).await)
    }

    fn unreachable(&self, error: &dyn std::error::Error) -> Error {
        Error::Unreachable { endpoint: self.endpoint.clone(), cause: chain(error) }
    }

    async fn problem(&self, response: Response<Incoming>) -> Error {
        let status = response.status();
        // Something between may say what a later try does not meet; any other refusal has to be that of a Kelda.
        let passing = matches!(status.as_u16(), 408 | 429 | 500..=599);
        if !passing && !is_kelda(response.headers()) {
            let endpoint = &self.endpoint;
            return Error::Protocol(format!("{endpoint} answered {status}, and not as a Kelda server does"));
        }
        let limited = http_body_util::Limited::new(response.into_body(), MAX_PROBLEM_BYTES);
        let body = match timer::within(IDLE_LIMIT, limited.collect()).await {
            Some(Ok(collected)) => collected.to_bytes(),
            Some(Err(_)) | None => Bytes::new(),
        };
        let mut problem: Problem = serde_json::from_slice(&body).unwrap_or_default();
        if problem.title.is_empty() {
            problem.title = status.canonical_reason().unwrap_or("error").to_owned();
        }
        problem.status = status.as_u16();
        if problem.r#type.is_empty() {
            problem.r#type = usual_type(problem.status).to_owned();
        }
        Error::Problem(Box::new(problem))
    }
}

impl Answer {
    /// The value of a header as text, when there is one.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The value of a header that a Kelda server sends here.
    pub(crate) fn required(&self, name: &str) -> Result<&str, Error> {
        let missing = || Error::Protocol(format!("{} sent no {name} header", self.endpoint));
        self.header(name).ok_or_else(missing)
    }

    /// The value of a header that has to be a number.
    pub(crate) fn number(&self, name: &str) -> Result<u64, Error> {
        let value = self.required(name)?;
        value.parse().map_err(|_| Error::Protocol(format!("{name}: {value:?} is not a number")))
    }

    /// The whole body.
    pub(crate) async fn bytes(self) -> Result<Bytes, Error> {
        let (endpoint, mut body) = (self.endpoint, self.body);
        let mut parts = Vec::new();
        loop {
            let frame = timer::within(IDLE_LIMIT, body.frame()).await;
            match frame.ok_or_else(|| silent(&endpoint, IDLE_LIMIT))? {
                None => break,
                Some(Ok(frame)) => parts.extend(frame.into_data().ok()),
                Some(Err(error)) => return Err(Error::Unreachable { endpoint, cause: chain(&error) }),
            }
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { parts.concat().into() })
    }
}

/// The error of a wait that reached its limit.
fn silent(endpoint: &str, limit: Duration) -> Error {
    let cause = format!("nothing came for {} seconds", limit.as_secs());
    Error::Unreachable { endpoint: endpoint.to_owned(), cause }
}

/// Whether the headers are those of a Kelda server: a problem, or a header of its own.
fn is_kelda(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let own = |name: &str| name.starts_with("kelda-") || name.starts_with("stream-");
    content_type.starts_with("application/problem+json") || headers.keys().any(|name| own(name.as_str()))
}

/// The type of a problem whose answer had no body, as those to HEAD have none: what the status nearly always means.
fn usual_type(status: u16) -> &'static str {
    match status {
        400 => "urn:kelda:problem:bad-request",
        404 => "urn:kelda:problem:not-found",
        410 => "urn:kelda:problem:gone",
        412 => "urn:kelda:problem:stream-id-mismatch",
        500 => "urn:kelda:problem:internal",
        503 => "urn:kelda:problem:unavailable",
        507 => "urn:kelda:problem:disk-full",
        _ => "",
    }
}

/// The error with all its causes: transports hide the useful one ("connection refused") innermost.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests;
