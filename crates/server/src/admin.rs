//! The admin listener: health, readiness, metrics, virtual hosts and backups.
//!
//! Owns `/health` (the process lives), `/ready` (it does what it is there for) and `/metrics` (what it did so far).
//! Guarantees that all answer from memory, at any phase of a node. Never serves a record.

mod backup;
mod vhosts;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, Response, StatusCode, Uri, header};
use axum::routing::{get, post, put};
use kelda_engine::DamagedRange;
use kelda_env::Env;
use kelda_env::layers::StoreCounts;
use kelda_meta::Meta;
use kelda_metalog::{MetaLog, Plane};
use kelda_service::{Health, MaintenanceReport, Problem, Service};
use parking_lot::Mutex;
use serde_json::{Value as Json, json};

use crate::amqp::Counts;
use crate::http::refusal::Refusal;
use crate::metrics;
use crate::node::{Phase, PhaseCell};

pub use backup::Backups;

/// What the admin listener knows of its node.
pub struct Admin {
    env: Env,
    started: Duration,
    phase: Arc<PhaseCell>,
    parts: Mutex<Option<(MetaLog, Service)>>,
    backups: Mutex<Option<Arc<Backups>>>,
    /// Held by the backup that is being taken.
    backing_up: Arc<tokio::sync::Mutex<()>>,
    counts: OnceLock<Arc<StoreCounts>>,
    amqp: Arc<Counts>,
}

impl Admin {
    /// For a node that begins.
    #[must_use]
    pub fn new(env: Env, phase: Arc<PhaseCell>) -> Arc<Admin> {
        let started = env.clock.monotonic();
        let (parts, backups, backing_up) = (Mutex::new(None), Mutex::new(None), Arc::default());
        let counts = OnceLock::new();
        Arc::new(Admin { env, started, phase, parts, backups, backing_up, counts, amqp: Arc::default() })
    }

    /// Backups can be taken from here on.
    pub fn serve_backups(&self, backups: Backups) {
        *self.backups.lock() = Some(Arc::new(backups));
    }

    /// The requests to the node's store are counted here.
    pub fn count(&self, counts: Arc<StoreCounts>) {
        // A node has one store, and this is called once.
        let _ = self.counts.set(counts);
    }

    /// Where AMQP is counted.
    pub fn amqp(&self) -> Arc<Counts> {
        Arc::clone(&self.amqp)
    }

    /// Everything that is counted and measured, as the text of `/metrics`.
    fn metrics(&self) -> String {
        let parts = self.parts.lock().clone();
        metrics::text(metrics::Seen {
            ready: self.readiness().0,
            uptime: self.uptime(),
            store: self.counts.get().map(|counts| counts.snapshot()).unwrap_or_default(),
            streams: parts.as_ref().map(|(metalog, _)| metalog.view().stream_count()),
            applied: parts.as_ref().map(|(metalog, _)| metalog.health().applied),
            gauges: parts.map(|(_, service)| service.gauges()),
            amqp: self.amqp(),
        })
    }

    fn uptime(&self) -> Duration {
        self.env.clock.monotonic().saturating_sub(self.started)
    }

    /// The node serves with these parts.
    pub fn serve(&self, metalog: MetaLog, service: Service) {
        *self.parts.lock() = Some((metalog, service));
    }

    /// Whether the node does what it is there for, and what there is to say about that.
    #[must_use]
    pub fn readiness(&self) -> (bool, Json) {
        let parts = self.parts.lock().clone();
        let (metalog, service) = match (self.phase.get(), parts) {
            (Phase::Serving, Some(parts)) => parts,
            (Phase::Opening | Phase::Serving, _) => return (false, json!({"status": "opening"})),
            (Phase::Recovering, _) => return (false, engine(&self.phase.engine().get()).1),
            (Phase::Stopping, _) => return (false, json!({"status": "stopping"})),
        };
        let health = metalog.health();
        let (mut ready, mut said) = engine(&service.health());
        let metadata = match &health.plane {
            Plane::Ready => json!({"status": "ready", "applied": health.applied.to_string()}),
            Plane::Stalled { reason } => json!({"status": "stalled", "reason": reason}),
            Plane::Stopped { reason } => json!({"status": "stopped", "reason": reason}),
            Plane::Closed => json!({"status": "closed"}),
        };
        if health.plane != Plane::Ready {
            ready = false;
            said["status"] = json!("metadata");
        }
        said["metadata"] = metadata;
        if let Some(error) = health.snapshot_error {
            said["snapshot_error"] = json!(error);
        }
        maintenance(&service.maintenance(), &mut said);
        (ready, said)
    }
}

/// What of the maintenance is not as it should be; nothing otherwise. None of it keeps a node from serving.
fn maintenance(report: &MaintenanceReport, said: &mut Json) {
    if let Some(fault) = report.clock {
        let waits = "expiry, retention and the collection of garbage wait until it is right";
        said["clock"] = json!(format!("{fault}: {waits}"));
    }
    if let Some((objects, first)) = &report.undeleted {
        said["undeleted"] = json!({"objects": objects, "first": first});
    }
    if !report.damaged.is_empty() {
        let range = |it: &DamagedRange| {
            json!({
                "object": it.object,
                "stream": it.stream.to_string(),
                "from": it.base.to_string(),
                "until": it.end.to_string(),
                "detail": it.detail,
            })
        };
        said["damage"] = report.damaged.iter().take(DAMAGE_SHOWN).map(range).collect();
    }
}

/// Ranges of damage that are shown; the log has all.
const DAMAGE_SHOWN: usize = 20;

/// What the engine's health means. A full disk is no reason to send readers elsewhere.
fn engine(health: &Health) -> (bool, Json) {
    match health {
        Health::Ready => (true, json!({"status": "ready", "appends": true})),
        Health::DiskFull => (true, json!({"status": "disk-full", "appends": false})),
        Health::Recovering { segments_left, bytes_left } => {
            (false, json!({"status": "recovering", "segments_left": segments_left, "bytes_left": bytes_left}))
        }
        Health::Ended { reason } => (false, json!({"status": "ended", "reason": reason})),
        Health::Damaged { file, position, detail } => {
            (false, json!({"status": "damaged", "file": file, "position": position, "detail": detail}))
        }
    }
}

/// The router of the listener.
pub fn router(admin: Arc<Admin>) -> Router {
    Router::new()
        .route("/health", get(health))
        .route("/ready", get(ready))
        .route("/backup", post(backup::take))
        .route("/metrics", get(measured))
        .route("/vhosts", get(vhosts::list))
        .route("/vhosts/{name}", put(vhosts::put))
        .fallback(nothing)
        .with_state(admin)
}

async fn health(State(admin): State<Arc<Admin>>) -> Response<Body> {
    let uptime = admin.uptime().as_secs();
    let said = json!({"status": "ok", "version": env!("CARGO_PKG_VERSION"), "uptime_seconds": uptime});
    reply(StatusCode::OK, &said)
}

async fn ready(State(admin): State<Arc<Admin>>) -> Response<Body> {
    let (ready, said) = admin.readiness();
    reply(if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }, &said)
}

async fn measured(State(admin): State<Arc<Admin>>) -> Response<Body> {
    let mut response = Response::new(Body::from(admin.metrics()));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(metrics::CONTENT_TYPE));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

async fn nothing(uri: Uri) -> Response<Body> {
    Refusal::new(
        Problem::NotFound,
        format!("{} is not here: there are /health, /ready, /metrics, /vhosts and /backup", uri.path()),
    )
    .into_response()
}

fn reply(status: StatusCode, said: &Json) -> Response<Body> {
    let mut response = Response::new(Body::from(said.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
