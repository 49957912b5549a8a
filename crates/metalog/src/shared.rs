//! What the driver and the handles of one log share: owns the published view, guarantees that the view is
//! published before its index (so that who waits for an index finds it), never waits under a lock.

use std::sync::Arc;

use arc_swap::ArcSwap;
use kelda_env::watch;
use kelda_format::SessionId;
use kelda_meta::State;
use parking_lot::Mutex;

use crate::health::{Health, Plane};

#[derive(Debug)]
pub(crate) struct Shared {
    view: ArcSwap<State>,
    applied: watch::Sender<u64>,
    health: Mutex<Health>,
    session: Mutex<Option<SessionId>>,
}

impl Shared {
    pub(crate) fn new(state: Arc<State>, applied: u64, snapshot: u64) -> Self {
        let health = Health { snapshot, ..Health::default() };
        Self {
            view: ArcSwap::new(state),
            applied: watch::Sender::new(applied),
            health: Mutex::new(health),
            session: Mutex::default(),
        }
    }

    pub(crate) fn view(&self) -> Arc<State> {
        self.view.load_full()
    }

    pub(crate) fn publish(&self, state: Arc<State>, applied: u64) {
        self.view.store(state);
        self.applied.send_replace(applied);
    }

    pub(crate) fn applied(&self) -> watch::Receiver<u64> {
        self.applied.subscribe()
    }

    pub(crate) fn health(&self) -> Health {
        Health { applied: *self.applied.borrow(), ..self.health.lock().clone() }
    }

    pub(crate) fn set_plane(&self, plane: Plane) {
        self.health.lock().plane = plane;
    }

    pub(crate) fn set_snapshot(&self, result: Result<u64, String>) {
        let mut health = self.health.lock();
        match result {
            Ok(index) => {
                health.snapshot = index;
                health.snapshot_error = None;
            }
            Err(reason) => health.snapshot_error = Some(reason),
        }
    }

    pub(crate) fn session(&self) -> Option<SessionId> {
        *self.session.lock()
    }

    pub(crate) fn set_session(&self, session: SessionId) {
        *self.session.lock() = Some(session);
    }

    /// Why nothing is written any more.
    pub(crate) fn refusal(&self) -> String {
        match self.health().plane {
            Plane::Stopped { reason } => format!("the metadata plane stopped: {reason}"),
            Plane::Closed => "the metadata log is closed".to_owned(),
            Plane::Stalled { reason } => format!("the metadata log does not answer: {reason}"),
            Plane::Ready => "the task that writes the metadata log ended".to_owned(),
        }
    }
}
