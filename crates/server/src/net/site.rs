//! What a listener serves.
//!
//! Owns the port between connections and front ends. Guarantees nothing by itself. Never knows a socket.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use futures::FutureExt;
use futures::future::BoxFuture;
use hyper::body::Incoming;
use tower::Service as _;

use super::Pulse;

/// What answers the requests of a listener.
pub trait Site: Send + Sync + 'static {
    /// The answer to one request. `pulse` is that of its connection, when the request has it to itself.
    fn answer(
        &self,
        request: Request<Incoming>,
        pulse: Option<Arc<Pulse>>,
    ) -> BoxFuture<'static, Response<Body>>;
}

impl Site for Router {
    fn answer(
        &self,
        request: Request<Incoming>,
        _pulse: Option<Arc<Pulse>>,
    ) -> BoxFuture<'static, Response<Body>> {
        let answer = self.clone().call(request);
        async move {
            match answer.await {
                Ok(response) => response,
                Err(never) => match never {},
            }
        }
        .boxed()
    }
}
