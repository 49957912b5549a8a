//! `PUT /vhosts/{name}`: a virtual host of AMQP is there afterwards. `GET /vhosts`: which there are.
//!
//! Owns the requests and their replies. Guarantees that declaring one that is there changes nothing.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{Response, StatusCode};
use kelda_meta::Meta;
use kelda_service::Problem;
use serde_json::json;

use super::{Admin, reply};
use crate::amqp::vhost;
use crate::http::refusal::Refusal;
use crate::node::Phase;

impl Admin {
    /// The metadata of a node that serves.
    fn meta(&self) -> Result<Arc<dyn Meta>, Refusal> {
        let parts = self.parts.lock().clone();
        match (parts, self.phase.get()) {
            (Some((metalog, _)), Phase::Serving) => Ok(Arc::new(metalog)),
            _ => Err(Refusal::new(
                Problem::Unavailable,
                "the node does not serve yet, or not any more: see /ready",
            )),
        }
    }
}

/// Declares one.
pub(super) async fn put(
    State(admin): State<Arc<Admin>>,
    Path(name): Path<String>,
) -> Result<Response<Body>, Response<Body>> {
    if name.len() > vhost::MAX_NAME_BYTES {
        let detail = format!(
            "the name of a virtual host has {} bytes: 1 to {} are right",
            name.len(),
            vhost::MAX_NAME_BYTES
        );
        return Err(Refusal::new(Problem::InvalidParameter, detail).into_response());
    }
    let meta = admin.meta().map_err(Refusal::into_response)?;
    let new = vhost::declare(&*meta, &name)
        .await
        .map_err(|error| Refusal::new(Problem::Unavailable, error.to_string()).into_response())?;
    Ok(reply(if new { StatusCode::CREATED } else { StatusCode::OK }, &json!({"vhost": name})))
}

/// Lists them.
pub(super) async fn list(State(admin): State<Arc<Admin>>) -> Result<Response<Body>, Response<Body>> {
    let meta = admin.meta().map_err(Refusal::into_response)?;
    Ok(reply(StatusCode::OK, &json!({"vhosts": vhost::all(&meta.view())})))
}
