//! A front end that does nothing.
//!
//! Owns a site which takes every body whole and answers 200. Guarantees that connections are accepted and served as
//! those of a node are, so that its rate is what this HTTP stack can do at most. Never stores or keeps anything.

use std::sync::Arc;

use arc_swap::ArcSwap;
use axum::body::Body;
use axum::http::{Request, Response, StatusCode};
use futures::FutureExt;
use futures::future::BoxFuture;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use kelda_env::Env;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::accept::{self, Front};
use super::{Pulse, Site};

/// Connections at once: as many as a node takes by default.
const MAX_CONNECTIONS: usize = 10_000;

/// Serves `listener` until `stopping` is cancelled and the requests in flight are answered.
pub async fn serve(env: Env, listener: TcpListener, stopping: CancellationToken) {
    let site: Box<dyn Site> = Box::new(Nothing);
    let tracker = TaskTracker::new();
    let front = Front {
        env,
        site: Arc::new(ArcSwap::from_pointee(site)),
        max_connections: MAX_CONNECTIONS,
        stopping,
        killing: CancellationToken::new(),
        tracker: tracker.clone(),
    };
    accept::run(front, listener).await;
    tracker.close();
    tracker.wait().await;
}

struct Nothing;

impl Site for Nothing {
    fn answer(
        &self,
        request: Request<Incoming>,
        _pulse: Option<Arc<Pulse>>,
    ) -> BoxFuture<'static, Response<Body>> {
        async move {
            let mut response = Response::new(Body::empty());
            if request.into_body().collect().await.is_err() {
                *response.status_mut() = StatusCode::BAD_REQUEST;
            }
            response
        }
        .boxed()
    }
}
