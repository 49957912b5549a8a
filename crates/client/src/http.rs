//! The HTTP transport: owns the connection pool, guarantees that an error status becomes a typed problem,
//! never retries by itself.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::HeaderMap;
use hyper::{Method, Request, Response, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use crate::error::{Error, Problem};

/// An error body larger than this is cut; problem documents are far smaller.
const MAX_PROBLEM_BYTES: usize = 64 * 1024;

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
        let trimmed = endpoint.trim_end_matches('/');
        let uri: Uri = trimmed.parse().map_err(|_| Error::Endpoint(endpoint.to_owned()))?;
        if uri.scheme_str() != Some("http") || uri.host().is_none() {
            return Err(Error::Endpoint(endpoint.to_owned()));
        }
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new()).build(connector);
        Ok(Http { endpoint: trimmed.to_owned(), client })
    }

    /// Sends one request; `target` is the path with its query, already escaped.
    pub(crate) async fn send(
        &self,
        method: Method,
        target: &str,
        headers: &[(&str, String)],
        body: Bytes,
    ) -> Result<Answer, Error> {
        let mut request = Request::builder().method(method).uri(format!("{}{target}", self.endpoint));
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let request = request.body(Full::new(body)).map_err(|error| Error::Protocol(error.to_string()))?;
        let response = self.client.request(request).await.map_err(|error| self.unreachable(&error))?;
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
        let limited = http_body_util::Limited::new(response.into_body(), MAX_PROBLEM_BYTES);
        let body = match limited.collect().await {
            Ok(collected) => collected.to_bytes(),
            Err(_) => Bytes::new(),
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

    /// The value of a header that has to be a number.
    pub(crate) fn number(&self, name: &str) -> Result<u64, Error> {
        let value = self.header(name).ok_or_else(|| Error::Protocol(format!("no {name} header")))?;
        value.parse().map_err(|_| Error::Protocol(format!("{name}: {value:?} is not a number")))
    }

    /// The whole body.
    pub(crate) async fn bytes(self) -> Result<Bytes, Error> {
        let endpoint = self.endpoint;
        let collected = self.body.collect().await;
        collected
            .map(http_body_util::Collected::to_bytes)
            .map_err(|error| Error::Unreachable { endpoint, cause: chain(&error) })
    }
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
