//! What every request needs.
//!
//! Owns the service, the bounds that requests share and the word that the node stops. Cheap to clone. Never knows a
//! socket.

use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderValue;
use kelda_env::Env;
use kelda_format::ids::SessionId;
use kelda_meta::Meta;
use kelda_service::{Caller, Problem, Service};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::budget::Budget;
use super::refusal::Refusal;
use crate::config::{ClusterSettings, NodeSettings};

/// Bytes of replies that fast readers may have in memory whole; everybody else's are read piece by piece.
const FAST_REPLY_BYTES: u64 = 64 << 20;

/// The world of a request.
#[derive(Clone)]
pub struct App(Arc<Inner>);

/// What [`App`] shares.
pub struct Inner {
    /// The world.
    pub env: Env,
    /// Named streams.
    pub service: Service,
    /// Views of the metadata.
    pub meta: Arc<dyn Meta>,
    /// Bytes of request bodies.
    pub request_bytes: Budget,
    /// Bytes of records on their way out.
    pub reply_bytes: Budget,
    /// Bytes of replies that are held whole.
    pub fast_bytes: Budget,
    /// How long a long-poll waits.
    pub long_poll_timeout: Duration,
    /// How long an event stream lives.
    pub sse_max_duration: Duration,
    /// Cancelled when readers that wait are to end.
    pub stopping: CancellationToken,
    parked: Arc<Semaphore>,
    max_parked: u64,
}

impl std::ops::Deref for App {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl App {
    /// What requests to `service` need, with the bounds of `settings`.
    #[must_use]
    pub fn new(
        env: Env,
        service: Service,
        meta: Arc<dyn Meta>,
        settings: &NodeSettings,
        stopping: CancellationToken,
    ) -> App {
        let max_parked = settings.max_parked_readers;
        let parked = usize::try_from(max_parked).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
        App(Arc::new(Inner {
            env,
            service,
            meta,
            request_bytes: Budget::new(settings.request_memory.0),
            reply_bytes: Budget::new(settings.read_memory.0),
            fast_bytes: Budget::new(FAST_REPLY_BYTES),
            long_poll_timeout: settings.long_poll_timeout,
            sse_max_duration: settings.sse_max_duration,
            stopping,
            parked: Arc::new(Semaphore::new(parked)),
            max_parked,
        }))
    }

    /// Who asks: everybody is anonymous until access tokens exist.
    #[must_use]
    pub fn caller(&self) -> Caller {
        Caller::anonymous()
    }

    /// The right to wait.
    ///
    /// # Errors
    /// As many readers wait as may.
    pub fn park(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        Arc::clone(&self.parked).try_acquire_owned().map_err(|_| {
            Refusal::new(Problem::Overloaded, format!("{} readers wait, which is the most", self.max_parked))
        })
    }

    /// Where a session's node is reached.
    #[must_use]
    pub fn address(&self, session: SessionId) -> Option<String> {
        self.meta.view().node(session.node).map(|node| node.address.clone())
    }

    /// The web origin that may read replies.
    #[must_use]
    pub fn allowed_origin(&self) -> HeaderValue {
        let origin = ClusterSettings::of(&self.meta.view()).cors_allow_origin;
        HeaderValue::from_str(&origin).unwrap_or(HeaderValue::from_static("null"))
    }
}
