//! One connection.
//!
//! Owns HTTP/1.1 and HTTP/2 on one socket. Guarantees that a panic in a handler is answered and not the end of the
//! connection, and that a shutdown lets the requests in flight finish. Never holds more for a slow peer than the limits
//! below say.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use arc_swap::ArcSwap;
use axum::body::Body;
use axum::http::{Method, Request, Response, Uri, Version};
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use hyper::body::{Bytes, Frame, Incoming, SizeHint};
use hyper::service::service_fn;
use hyper_util::server::conn::auto::Builder;
use kelda_env::Env;
use kelda_format::limits::MAX_HEADER_BLOCK_BYTES;
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use super::executor::EnvExecutor;
use super::pulse::InFlight;
use super::watched::Watched;
use super::{Pulse, Site};
use crate::http::refusal::Refusal;

/// Requests that one HTTP/2 connection may have in flight.
const MAX_STREAMS: u32 = 256;
/// Bytes of one HTTP/2 request body that may come before they are read.
const STREAM_WINDOW: u32 = 256 << 10;
/// Bytes of all request bodies of one HTTP/2 connection that may come before they are read.
const CONNECTION_WINDOW: u32 = 1 << 20;
/// Bytes of one HTTP/2 reply that may wait for the socket.
const MAX_SEND_BUFFER: usize = 16 << 10;

/// How the node ends a connection.
pub(super) struct Ends {
    /// Cancelled when what is in flight is to be finished.
    pub(super) stopping: CancellationToken,
    /// Cancelled when the connection is to be dropped as it is.
    pub(super) killing: CancellationToken,
}

impl Ends {
    /// Each of them once, `true` for the one that drops. A token costs a lock whenever it is looked at; in this set it is
    /// looked at when it has something to say.
    fn watch(self) -> FuturesUnordered<BoxFuture<'static, bool>> {
        let Ends { stopping, killing } = self;
        let stopped = async move {
            stopping.cancelled().await;
            false
        };
        let killed = async move {
            killing.cancelled().await;
            true
        };
        [stopped.boxed(), killed.boxed()].into_iter().collect()
    }
}

/// Serves one connection to its end, or to the end of what is in flight once the node stops.
pub(super) async fn serve(env: Env, stream: TcpStream, site: Arc<ArcSwap<Box<dyn Site>>>, ends: Ends) {
    // Replies are written whole; waiting for more to send with them only delays them.
    let _ = stream.set_nodelay(true);
    let pulse = Pulse::new(Arc::clone(&env.clock));
    let watched = Watched::new(stream, Arc::clone(&env.clock), Arc::clone(&pulse));
    let mut builder = Builder::new(EnvExecutor(env));
    builder.http1().header_read_timeout(None).max_buf_size(MAX_HEADER_BLOCK_BYTES);
    builder
        .http2()
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(u32::try_from(MAX_HEADER_BLOCK_BYTES).unwrap_or(u32::MAX))
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buf_size(MAX_SEND_BUFFER);
    let service = service_fn(|request: Request<Incoming>| {
        let shared = request.version() >= Version::HTTP_2;
        let guard = pulse.begin(shared);
        let (method, uri) = (request.method().clone(), request.uri().clone());
        // HTTP/2 bounds what waits for the socket by itself, per reply.
        let pulse = (!shared).then(|| Arc::clone(&pulse));
        let answer = site.load().answer(request, pulse);
        async move {
            let response = match AssertUnwindSafe(answer).catch_unwind().await {
                Ok(response) => response,
                Err(_) => panicked(&method, &uri),
            };
            Ok::<_, Infallible>(response.map(|body| Counted { body, _guard: guard }))
        }
    });
    let connection = builder.serve_connection(watched, service);
    tokio::pin!(connection);
    let mut ends = ends.watch();
    let ended = loop {
        tokio::select! {
            biased;
            ended = &mut connection => break ended,
            Some(killed) = ends.next() => {
                if killed {
                    return;
                }
                connection.as_mut().graceful_shutdown();
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended");
    }
}

/// The answer of a handler that panicked.
fn panicked(method: &Method, uri: &Uri) -> Response<Body> {
    tracing::error!(%method, path = uri.path(), "a request panicked");
    let detail = "this request met a bug in the server; its log says more";
    crate::http::cors::dress(None, Refusal::new(kelda_service::Problem::Internal, detail).into_response())
}

/// A reply that counts as in flight until it is sent or given up.
struct Counted {
    body: Body,
    _guard: InFlight,
}

impl hyper::body::Body for Counted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
