//! One connection to the server: owns the socket and HTTP/1.1 on it, driven by the task that sends, so that a request costs
//! no change of tasks. Guarantees one request at a time, that a reply is taken whole, and that a server which says nothing
//! is given up. Never keeps a body.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{HOST, HeaderMap, HeaderValue};
use hyper::http::response::Parts;
use hyper::{Method, Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use kelda_env::{Clock, RealClock, timeout};
use tokio::net::TcpStream;

use crate::exit::Failure;

/// Bytes of a refusal that are kept to be shown.
const MAX_PROBLEM_BYTES: usize = 64 << 10;
/// Bytes that one read from the socket takes at most: large enough that a large reply needs few of them.
const MAX_READ_BYTES: usize = 1 << 20;
/// How long a connection may take to be there.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// A server that sends nothing for so long, and at most twice as long, is given up; event streams and waiting requests get
/// something every 15 and 25 seconds.
const IDLE_LIMIT: Duration = Duration::from_secs(45);

/// Where requests go. Cheap to clone.
#[derive(Clone)]
pub struct Target {
    clock: Arc<dyn Clock>,
    endpoint: Arc<str>,
    address: Arc<str>,
    host: HeaderValue,
}

impl Target {
    /// The server at an `http://HOST:PORT` endpoint.
    pub fn new(endpoint: &str) -> Result<Target, Failure> {
        let wrong = || Failure::from(kelda_client::Error::Endpoint(endpoint.to_owned()));
        let trimmed = kelda_client::endpoint::check(endpoint)?;
        let uri: Uri = trimmed.parse().map_err(|_| wrong())?;
        if uri.scheme_str() != Some("http") {
            let said = format!("kelda bench measures without TLS: {endpoint:?} is not http://HOST:PORT");
            return Err(Failure::usage(said));
        }
        let authority = uri.authority().ok_or_else(wrong)?;
        let address = format!("{}:{}", authority.host(), authority.port_u16().unwrap_or(80));
        let host = HeaderValue::from_str(authority.as_str()).map_err(|_| wrong())?;
        let clock = Arc::new(RealClock::new());
        Ok(Target { clock, endpoint: trimmed.into(), address: address.into(), host })
    }

    fn lost(&self, cause: impl std::fmt::Display) -> Failure {
        kelda_client::Error::Unreachable { endpoint: self.endpoint.to_string(), cause: cause.to_string() }
            .into()
    }
}

/// Takes a reply as it comes.
pub trait Sink: Send {
    /// The reply begins, with success.
    fn head(&mut self, _parts: &Parts) -> Result<(), String> {
        Ok(())
    }

    /// The bytes that came next.
    fn data(&mut self, bytes: &[u8]) -> Result<(), String>;
}

/// Takes a reply for nothing.
pub struct Discard;

impl Sink for Discard {
    fn data(&mut self, _bytes: &[u8]) -> Result<(), String> {
        Ok(())
    }
}

/// A reply without its body.
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    /// The body of a refusal; empty when there was success.
    pub problem: Vec<u8>,
}

impl Answer {
    /// The value of a header, when it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The failure that a refusal is.
    pub fn refused(&self, what: &str) -> Failure {
        let problem = String::from_utf8_lossy(&self.problem);
        Failure::local(format!("{what} was answered {}: {problem}", self.status))
    }
}

type Driver = http1::Connection<TokioIo<TcpStream>, Full<Bytes>>;

/// An open connection.
pub struct Connection {
    target: Target,
    sender: http1::SendRequest<Full<Bytes>>,
    driver: Pin<Box<Driver>>,
    /// Ends when it is time to look whether anything was heard.
    look: BoxFuture<'static, ()>,
    /// Whether a request began or something came since the last look: a timer for each request would be measured too.
    heard: AtomicBool,
}

impl Connection {
    pub async fn open(target: &Target) -> Result<Connection, Failure> {
        let stream = timeout(&*target.clock, CONNECT_LIMIT, TcpStream::connect(&*target.address)).await;
        let stream = stream.map_err(|error| target.lost(error))?.map_err(|error| target.lost(error))?;
        stream.set_nodelay(true).map_err(|error| target.lost(error))?;
        let mut builder = http1::Builder::new();
        builder.max_buf_size(MAX_READ_BYTES);
        let (sender, driver) =
            builder.handshake(TokioIo::new(stream)).await.map_err(|error| target.lost(error))?;
        let look = target.clock.sleep(IDLE_LIMIT);
        let (driver, heard) = (Box::pin(driver), AtomicBool::new(true));
        Ok(Connection { target: target.clone(), sender, driver, look, heard })
    }

    /// A request to this server without a body or headers of its own.
    pub fn request(&self, method: Method, uri: Uri, body: Bytes) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        request.headers_mut().insert(HOST, self.target.host.clone());
        request
    }

    /// Sends a request and takes its reply; the body of a success goes to `sink`.
    pub async fn exchange(
        &mut self,
        request: Request<Full<Bytes>>,
        sink: &mut dyn Sink,
    ) -> Result<Answer, Failure> {
        let Connection { target, sender, driver, look, heard } = self;
        let heard = &*heard;
        heard.store(true, Ordering::Relaxed);
        let work = async {
            sender.ready().await.map_err(|error| target.lost(error))?;
            let response = sender.send_request(request).await.map_err(|error| target.lost(error))?;
            heard.store(true, Ordering::Relaxed);
            let (parts, body) = response.into_parts();
            take(target, parts, body, sink, heard).await
        };
        let mut work = std::pin::pin!(work);
        std::future::poll_fn(|context| {
            if let Poll::Ready(answer) = work.as_mut().poll(context) {
                return Poll::Ready(answer);
            }
            if driver.as_mut().poll(context).is_pending() {
                while look.as_mut().poll(context).is_ready() {
                    if !heard.swap(false, Ordering::Relaxed) {
                        return Poll::Ready(Err(target.lost(format!("nothing came for {IDLE_LIMIT:?}"))));
                    }
                    *look = target.clock.sleep(IDLE_LIMIT);
                }
                return Poll::Pending;
            }
            // The connection ended, perhaps with the last bytes of the reply: what came is all there is.
            match work.as_mut().poll(context) {
                Poll::Ready(answer) => Poll::Ready(answer),
                Poll::Pending => Poll::Ready(Err(target.lost("the server closed the connection"))),
            }
        })
        .await
    }

    /// Whether the server ended the connection, so that another one is needed.
    pub fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }
}

async fn take(
    target: &Target,
    parts: Parts,
    mut body: Incoming,
    sink: &mut dyn Sink,
    heard: &AtomicBool,
) -> Result<Answer, Failure> {
    let mut problem = Vec::new();
    let good = parts.status.is_success();
    if good {
        sink.head(&parts).map_err(Failure::local)?;
    }
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| target.lost(error))?;
        heard.store(true, Ordering::Relaxed);
        let Some(bytes) = frame.data_ref() else { continue };
        if good {
            sink.data(bytes).map_err(Failure::local)?;
        } else {
            let room = MAX_PROBLEM_BYTES - problem.len();
            problem.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }
    Ok(Answer { status: parts.status, headers: parts.headers, problem })
}
