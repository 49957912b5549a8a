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
use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response, Version};
use futures::FutureExt;
use hyper::body::{Bytes, Frame, Incoming, SizeHint};
use hyper::service::service_fn;
use hyper_util::server::conn::auto::Builder;
use kelda_env::Env;
use kelda_format::limits::MAX_HEADER_BLOCK_BYTES;
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;
use tower::Service as _;

use super::Pulse;
use super::executor::EnvExecutor;
use super::pulse::InFlight;
use super::watched::Watched;
use crate::http::refusal::Refusal;

/// Requests that one HTTP/2 connection may have in flight.
const MAX_STREAMS: u32 = 256;
/// Bytes of one HTTP/2 request body that may come before they are read.
const STREAM_WINDOW: u32 = 256 << 10;
/// Bytes of all request bodies of one HTTP/2 connection that may come before they are read.
const CONNECTION_WINDOW: u32 = 1 << 20;
/// Bytes of one HTTP/2 reply that may wait for the socket.
const MAX_SEND_BUFFER: usize = 16 << 10;

/// Serves one connection to its end, or to the end of what is in flight once `stopping` is cancelled.
pub(super) async fn serve(
    env: Env,
    stream: TcpStream,
    router: Arc<ArcSwap<Router>>,
    stopping: CancellationToken,
) {
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
        let (guard, router) = (pulse.begin(shared), Router::clone(&router.load()));
        // HTTP/2 bounds what waits for the socket by itself, per reply.
        let pulse = (!shared).then(|| Arc::clone(&pulse));
        async move {
            let response = handle(router, request, pulse).await;
            Ok::<_, Infallible>(response.map(|body| Counted { body, _guard: guard }))
        }
    });
    let connection = builder.serve_connection(watched, service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        biased;
        ended = &mut connection => ended,
        () = stopping.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended");
    }
}

/// Asks the router; a panic becomes an answer.
async fn handle(mut router: Router, request: Request<Incoming>, pulse: Option<Arc<Pulse>>) -> Response<Body> {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let mut request = request.map(Body::new);
    if let Some(pulse) = pulse {
        request.extensions_mut().insert(pulse);
    }
    match AssertUnwindSafe(router.call(request)).catch_unwind().await {
        Ok(Ok(response)) => response,
        Ok(Err(never)) => match never {},
        Err(_) => {
            tracing::error!(%method, path, "a request panicked");
            let detail = "this request met a bug in the server; its log says more";
            crate::http::cors::dress(
                None,
                Refusal::new(kelda_service::Problem::Internal, detail).into_response(),
            )
        }
    }
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
