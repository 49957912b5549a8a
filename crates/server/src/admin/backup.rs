//! `POST /backup`: a backup of this node, taken while it serves.
//!
//! Owns the request and its reply, a line of JSON each second and a last one. Guarantees that one backup is taken at a time,
//! and that one whose caller goes away ends. Takes only what calls itself JSON, so that no page in a browser of this machine
//! can ask for it.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Response, header};
use bytes::Bytes;
use kelda_engine::Engine;
use kelda_env::Env;
use kelda_meta::Meta;
use kelda_service::Problem;
use serde_json::{Value as Json, json};

use super::Admin;
use crate::backup::{BackupError, Place, Progress, Taken, of_running};
use crate::http::refusal::Refusal;
use crate::node::{Phase, StartError};

/// How often the reply says how far the backup is.
const REPORT_EVERY: Duration = Duration::from_secs(1);

/// What a backup is taken of.
pub struct Backups {
    /// The node's world.
    pub env: Env,
    /// Its engine.
    pub engine: Engine,
    /// Its metadata.
    pub meta: Arc<dyn Meta>,
    /// Its object store.
    pub store: Place,
}

/// Takes a backup to the place that the body names.
pub(super) async fn take(
    State(admin): State<Arc<Admin>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response<Body>, Response<Body>> {
    let refused = |problem, detail: &str| Refusal::new(problem, detail.to_owned()).into_response();
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if kind.split(';').next().map(str::trim) != Some("application/json") {
        return Err(refused(
            Problem::InvalidHeader,
            "Content-Type: a backup is asked for with application/json",
        ));
    }
    let asked: Option<Json> = serde_json::from_slice(&body).ok();
    let Some(to) = asked.as_ref().and_then(|asked| asked["to"].as_str()).map(str::to_owned) else {
        return Err(refused(Problem::InvalidBody, "the body has to be {\"to\": URL}"));
    };
    let backups = admin.backups.lock().clone();
    let (Some(backups), Phase::Serving) = (backups, admin.phase.get()) else {
        return Err(refused(
            Problem::Unavailable,
            "the node does not serve yet, or not any more: see /ready",
        ));
    };
    let Ok(alone) = Arc::clone(&admin.backing_up).try_lock_owned() else {
        return Err(refused(Problem::Unavailable, "another backup is being taken"));
    };
    let progress = Arc::new(Progress::default());
    let (env, watched) = (backups.env.clone(), Arc::clone(&progress));
    let work = async move {
        let _alone = alone;
        let Backups { env, engine, meta, store } = &*backups;
        let to = Place::open(env, &to).await?;
        of_running(env, engine, meta, store, &to, &progress).await
    };
    let begun = Reply::Running { work: Box::pin(work), progress: watched, env, begun: false };
    let lines = futures::stream::unfold(begun, next);
    let mut response = Response::new(Body::from_stream(lines));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

type Work = Pin<Box<dyn Future<Output = Result<Taken, BackupError>> + Send>>;

/// How far the reply is.
enum Reply {
    Running { work: Work, progress: Arc<Progress>, env: Env, begun: bool },
    Ended,
}

/// The next line.
async fn next(reply: Reply) -> Option<(Result<Bytes, Infallible>, Reply)> {
    let Reply::Running { mut work, progress, env, begun } = reply else { return None };
    if begun {
        let pause = env.clock.sleep(REPORT_EVERY);
        tokio::select! {
            biased;
            done = &mut work => return Some((line(&last(done)), Reply::Ended)),
            () = pause => {}
        }
    }
    let status = progress.status();
    let said = json!({
        "stage": status.stage.word(),
        "objects": status.objects,
        "bytes": status.bytes,
        "done_objects": status.done_objects,
        "done_bytes": status.done_bytes,
    });
    Some((line(&said), Reply::Running { work, progress, env, begun: true }))
}

fn last(done: Result<Taken, BackupError>) -> Json {
    match done {
        Ok(taken) => json!({"done": taken.describe()}),
        Err(error) => {
            let kind = match &error {
                BackupError::BadUrl { .. } => "usage",
                BackupError::Damaged(_) | BackupError::Start(StartError::Damaged { .. }) => "damaged",
                _ => "local",
            };
            json!({"failed": {"kind": kind, "detail": error.to_string()}})
        }
    }
}

fn line(said: &Json) -> Result<Bytes, Infallible> {
    Ok(Bytes::from(format!("{said}\n")))
}
