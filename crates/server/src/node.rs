//! A node: everything that runs in one process, put together.
//!
//! Owns the order in which the parts start and stop. Guarantees that one data directory serves one process, that a node
//! which cannot start says why and changes nothing, that no record is taken before recovery is done, and that a stop
//! finishes what is in flight, flushes and ends within [`stop::LIMIT`]. Never decides anything about a stream.

mod error;
mod log;
mod marker;
pub(crate) mod meta_wal;
mod phase;
mod ready;
mod start;
pub mod stop;
mod store;

use std::net::SocketAddr;
use std::sync::Arc;

use kelda_engine::Engine;
use kelda_env::{Env, LockGuard};
use kelda_format::ids::ClusterId;
use kelda_metalog::MetaLog;
use kelda_service::Service;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use error::StartError;
pub use phase::{Phase, PhaseCell};
pub(crate) use start::{LOCK_FILE, META_DIR, META_FILE, META_WAL_FILE, OBJECTS_DIR, WAL_DIR};
pub use start::{Prepared, prepare};

use crate::config::NodeSettings;

/// A node that is ready.
pub struct Node {
    env: Env,
    settings: NodeSettings,
    cluster: ClusterId,
    listen: Option<SocketAddr>,
    amqp_listen: Option<SocketAddr>,
    admin_listen: Option<SocketAddr>,
    phase: Arc<PhaseCell>,
    metalog: MetaLog,
    engine: Engine,
    service: Service,
    /// Listeners close and connections finish.
    stopping: CancellationToken,
    /// Readers that wait end.
    ending: CancellationToken,
    /// Connections are dropped as they are.
    killing: CancellationToken,
    connections: TaskTracker,
    /// The lock of the data directory, given back last.
    _lock: LockGuard,
}

impl Node {
    /// Where HTTP is served.
    #[must_use]
    pub fn listen(&self) -> Option<SocketAddr> {
        self.listen
    }

    /// Where AMQP is served.
    #[must_use]
    pub fn amqp_listen(&self) -> Option<SocketAddr> {
        self.amqp_listen
    }

    /// Where health and readiness are served.
    #[must_use]
    pub fn admin_listen(&self) -> Option<SocketAddr> {
        self.admin_listen
    }

    /// The service that the front ends call.
    #[must_use]
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// The line that says that the node is ready.
    #[must_use]
    pub fn ready_line(&self) -> String {
        if self.settings.ready_json { ready::json(self) } else { ready::text(self) }
    }
}
