//! The HTTP transport: owns the connection pool, guarantees that an error status becomes a typed problem and that every
//! wait ends, repeats only what may be repeated.

mod connector;
mod nodes;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, LengthLimitError};
use hyper::body::{Body, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, USER_AGENT};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;

use crate::backoff::Backoff;
pub(crate) use crate::connect::ANSWER_LIMIT;
use crate::connect::Settings;
use crate::diagnostic::{Diagnostic, Sender};
use crate::endpoint;
use crate::error::{Error, Problem};
use crate::retry::RetryPolicy;
use crate::timer::{self, Stopwatch};
use crate::tls;
use connector::Connector;
use nodes::Nodes;

/// An error body larger than this is cut; problem documents are far smaller.
const MAX_PROBLEM_BYTES: usize = 64 * 1024;
/// How often an owner is followed for one request: views of a stream that moves may be stale, but not for long.
const MAX_HOPS: usize = 3;
/// A request gets a second more for each so many bytes of its body: slower lines are not waited for.
const BYTES_PER_SECOND: u64 = 128 * 1024;

/// The nodes of one cluster and the pool of connections to them. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Http {
    inner: Arc<Inner>,
}

struct Inner {
    nodes: Nodes,
    settings: Settings,
    client: Client<Connector, Full<Bytes>>,
    diagnostics: Sender,
    /// Whether the token was sent where anybody between can read it, and that was said.
    exposed: AtomicBool,
}

/// A successful answer whose body has not been read.
pub(crate) struct Answer {
    pub(crate) headers: HeaderMap,
    body: Incoming,
    endpoint: String,
    idle_limit: Duration,
}

impl Http {
    pub(crate) fn new(endpoint: &str, settings: Settings, diagnostics: Sender) -> Result<Self, Error> {
        let nodes = Nodes::new(endpoint::check(endpoint)?, &settings.nodes)?;
        let connector = Connector::new(nodes.are_secure(), &settings)?;
        let client = Client::builder(TokioExecutor::new()).http2_only(settings.http2).build(connector);
        let exposed = AtomicBool::new(false);
        Ok(Http { inner: Arc::new(Inner { nodes, settings, client, diagnostics, exposed }) })
    }

    /// The endpoint that was given.
    pub(crate) fn endpoint(&self) -> &str {
        self.inner.nodes.first()
    }

    /// How long a request may wait at the tail.
    pub(crate) fn live_limit(&self) -> Duration {
        self.inner.settings.live_limit
    }

    /// How long an answer may take to begin.
    pub(crate) fn answer_limit(&self) -> Duration {
        self.inner.settings.answer_limit
    }

    /// How calls are tried again.
    pub(crate) fn calls(&self) -> RetryPolicy {
        self.inner.settings.calls
    }

    /// Sends one request in one try; `target` is the path with its query, already escaped.
    pub(crate) async fn send(
        &self,
        method: Method,
        target: &str,
        headers: &[(&str, String)],
        body: Bytes,
    ) -> Result<Answer, Error> {
        self.send_within(self.inner.settings.answer_limit, method, target, headers, body).await
    }

    /// Sends a request that may be repeated until it is answered or the patience for calls ends.
    pub(crate) async fn call(
        &self,
        method: Method,
        target: &str,
        headers: &[(&str, String)],
        body: Bytes,
    ) -> Result<Answer, Error> {
        let mut backoff = Backoff::of(self.inner.settings.calls);
        loop {
            let began = Stopwatch::start();
            match self.send(method.clone(), target, headers, body.clone()).await {
                Err(error) if error.is_retryable() => {
                    backoff.spend(began.elapsed());
                    let Some(pause) = backoff.pause() else { return Err(error) };
                    timer::sleep(pause).await;
                }
                other => return other,
            }
        }
    }

    /// One try, when the answer may take up to `limit` to begin. A node that says which other one owns the stream has done
    /// nothing, so that one is asked at once.
    pub(crate) async fn send_within(
        &self,
        limit: Duration,
        method: Method,
        target: &str,
        headers: &[(&str, String)],
        body: Bytes,
    ) -> Result<Answer, Error> {
        let nodes = &self.inner.nodes;
        let stream = target.split('?').next().unwrap_or_default();
        let mut node = nodes.of(stream);
        let mut hops = 0;
        loop {
            let request = self.request(&method, nodes.endpoint(node), target, headers, body.clone())?;
            let error = match self.ask(limit, node, stream, request).await {
                Err(error) if error.code() == Some("owned-elsewhere") => error,
                other => return other,
            };
            let Error::Problem(problem) = &error else { return Err(error) };
            let owner = problem.fields.get("owner").and_then(|owner| owner.as_str());
            match owner.and_then(|owner| nodes.owns(stream, owner)) {
                Some(owner) if owner != node && hops < MAX_HOPS => (node, hops) = (owner, hops + 1),
                _ => return Err(error),
            }
        }
    }

    fn request(
        &self,
        method: &Method,
        endpoint: &str,
        target: &str,
        headers: &[(&str, String)],
        body: Bytes,
    ) -> Result<Request<Full<Bytes>>, Error> {
        let settings = &self.inner.settings;
        let mut request = Request::builder().method(method.clone()).uri(format!("{endpoint}{target}"));
        let own = [(AUTHORIZATION, &settings.token), (USER_AGENT, &settings.agent)];
        for (name, value) in own {
            if let Some(value) = value {
                request = request.header(name, value);
            }
        }
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        request.body(Full::new(body)).map_err(|error| Error::Protocol(error.to_string()))
    }

    /// Asks one node.
    async fn ask(
        &self,
        limit: Duration,
        node: usize,
        stream: &str,
        request: Request<Full<Bytes>>,
    ) -> Result<Answer, Error> {
        let Inner { nodes, settings, client, .. } = &*self.inner;
        let endpoint = nodes.endpoint(node);
        self.say_exposed(endpoint);
        let writes = !is_safe(request.method());
        let bytes = request.body().size_hint().lower();
        let limit = limit + Duration::from_secs(bytes / BYTES_PER_SECOND);
        let response = match timer::within(limit, client.request(request)).await {
            Some(Ok(response)) => response,
            Some(Err(error)) => {
                nodes.failed(node, stream);
                if let Some(refused) = tls::refused(&error) {
                    return Err(Error::Tls { endpoint: endpoint.to_owned(), cause: refused.to_string() });
                }
                return Err(lost(endpoint, chain(&error), writes && !error.is_connect()));
            }
            None => {
                nodes.failed(node, stream);
                return Err(lost(endpoint, silence(limit), writes));
            }
        };
        if !response.status().is_success() {
            return Err(self.problem(endpoint, writes, response).await);
        }
        let (parts, body) = response.into_parts();
        owner(&parts.headers).and_then(|owner| nodes.owns(stream, owner));
        let (endpoint, idle_limit) = (endpoint.to_owned(), settings.idle_limit);
        Ok(Answer { headers: parts.headers, body, endpoint, idle_limit })
    }

    /// Says once that a token goes over the network for anybody to read.
    fn say_exposed(&self, endpoint: &str) {
        let Inner { settings, diagnostics, exposed, .. } = &*self.inner;
        let open = settings.token.is_some() && endpoint::is_open(endpoint);
        if open && !exposed.swap(true, Ordering::Relaxed) {
            diagnostics.send(Diagnostic::TokenInClear { endpoint: endpoint.to_owned() });
        }
    }

    /// What an error answer says; `writes` when the request may have changed something. Which refusal it is stands in the
    /// body, so one that is cut there is a lost connection: to take its status alone for the answer would end what can go on.
    async fn problem(&self, endpoint: &str, writes: bool, response: Response<Incoming>) -> Error {
        let status = response.status();
        // Something between may say what a later try does not meet; any other refusal has to be that of a Kelda.
        let passing = matches!(status.as_u16(), 408 | 429 | 500..=599);
        if !passing && !is_kelda(response.headers()) {
            return Error::Protocol(format!("{endpoint} answered {status}, and not as a Kelda server does"));
        }
        let owner = owner(response.headers()).map(str::to_owned);
        let limited = http_body_util::Limited::new(response.into_body(), MAX_PROBLEM_BYTES);
        let idle_limit = self.inner.settings.idle_limit;
        let cut = match timer::within(idle_limit, limited.collect()).await {
            Some(Ok(collected)) => Ok(collected.to_bytes()),
            Some(Err(error)) if error.is::<LengthLimitError>() => Ok(Bytes::new()),
            Some(Err(error)) => Err(chain(&*error)),
            None => Err(silence(idle_limit)),
        };
        let body = match cut {
            Ok(body) => body,
            // The head has said it all.
            Err(_) if owner.is_some() && status == StatusCode::SERVICE_UNAVAILABLE => Bytes::new(),
            // A refusal has changed nothing, whichever it is.
            Err(cause) => return lost(endpoint, cause, writes && status.is_server_error()),
        };
        let mut problem: Problem = serde_json::from_slice(&body).unwrap_or_default();
        if problem.title.is_empty() {
            problem.title = status.canonical_reason().unwrap_or("error").to_owned();
        }
        problem.status = status.as_u16();
        if problem.r#type.is_empty() {
            problem.r#type = match owner {
                Some(_) if status == StatusCode::SERVICE_UNAVAILABLE => "urn:kelda:problem:owned-elsewhere",
                _ => usual_type(problem.status),
            }
            .to_owned();
        }
        if let Some(owner) = owner {
            problem.fields.entry("owner").or_insert(owner.into());
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
    pub(crate) async fn bytes(mut self) -> Result<Bytes, Error> {
        let mut parts = Vec::new();
        while let Some(part) = self.part().await? {
            parts.push(part);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { parts.concat().into() })
    }

    /// The next part of the body, as it comes; nothing at its end.
    pub(crate) async fn part(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            match timer::within(self.idle_limit, self.body.frame()).await {
                None => return Err(lost(&self.endpoint, silence(self.idle_limit), false)),
                Some(None) => return Ok(None),
                Some(Some(Ok(frame))) => {
                    if let Ok(part) = frame.into_data() {
                        return Ok(Some(part));
                    }
                }
                Some(Some(Err(error))) => return Err(lost(&self.endpoint, chain(&error), false)),
            }
        }
    }
}

/// The address of the node that has the stream open, if the answer says it: one to HEAD has no body that could.
fn owner(headers: &HeaderMap) -> Option<&str> {
    headers.get("kelda-owner").and_then(|owner| owner.to_str().ok())
}

/// Whether a request of this method changes nothing.
fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// The error of a request that got no answer; `writes` when it may have changed something.
fn lost(endpoint: &str, cause: String, writes: bool) -> Error {
    let endpoint = endpoint.to_owned();
    if writes { Error::OutcomeUnknown { endpoint, cause } } else { Error::Unreachable { endpoint, cause } }
}

/// What is said of a wait that reached its limit.
fn silence(limit: Duration) -> String {
    format!("nothing came for {} seconds", limit.as_secs())
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
