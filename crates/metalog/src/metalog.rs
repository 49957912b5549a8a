//! The handle on a metadata log: owns the queue of proposals and the life of the driver, guarantees that a
//! proposal is answered within its time limit and after the view contains it, never touches the log itself.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use kelda_env::watch;
use kelda_env::{Env, TaskHandle};
use kelda_format::{ClusterId, Command, SessionId};
use kelda_meta::{Meta, Outcome, ProposeError, State};
use tokio::sync::mpsc;

use crate::config::{MAX_QUEUED, MetaLogConfig};
use crate::driver::{Driver, Snapshots};
use crate::health::{Health, Plane};
use crate::open::{Loaded, OpenError, load};
use crate::proposal::{Proposal, Ticket};
use crate::shared::Shared;
use crate::store::LogStore;

/// A node's view of the metadata log, and its way to change it. Clones are handles on the same one; the last
/// to be dropped ends it.
#[derive(Clone, Debug)]
pub struct MetaLog {
    inner: Arc<Inner>,
}

struct Inner {
    env: Env,
    cluster: ClusterId,
    config: MetaLogConfig,
    shared: Arc<Shared>,
    queue: mpsc::Sender<Proposal>,
    closing: watch::Sender<bool>,
    driver: TaskHandle,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MetaLog").field("cluster", &self.cluster).finish_non_exhaustive()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl MetaLog {
    /// Reads snapshot and log, and starts to follow and to write. An empty log becomes that of a new cluster.
    ///
    /// # Errors
    /// What is stored cannot be used; see [`OpenError`]. Nothing is changed or deleted then.
    pub async fn open(
        env: Env,
        store: Arc<dyn LogStore>,
        config: MetaLogConfig,
    ) -> Result<MetaLog, OpenError> {
        let Loaded { replica, snapshot, snapshot_bytes } = load(&env, &store, config.cluster).await?;
        let cluster = replica.cluster();
        let shared = Arc::new(Shared::new(Arc::clone(replica.state()), replica.applied(), snapshot));
        let (queue, proposals) = mpsc::channel(MAX_QUEUED);
        let (closing, closed) = watch::channel(false);
        let driver = Driver {
            env: env.clone(),
            store,
            shared: Arc::clone(&shared),
            replica,
            proposals,
            closing: closed,
            snapshots: Snapshots::new(config.snapshot_min_entries, snapshot, snapshot_bytes),
            last_flush: 0,
        };
        let driver = env.spawn("metalog", driver.run());
        Ok(MetaLog { inner: Arc::new(Inner { env, cluster, config, shared, queue, closing, driver }) })
    }

    /// The cluster that the log belongs to.
    #[must_use]
    pub fn cluster(&self) -> ClusterId {
        self.inner.cluster
    }

    /// Stamps later flushes with this session, so that their outcomes can be looked up (P21).
    pub fn set_session(&self, session: SessionId) {
        self.inner.shared.set_session(session);
    }

    /// How the metadata plane is.
    #[must_use]
    pub fn health(&self) -> Health {
        let health = self.inner.shared.health();
        match self.inner.driver.join().now_or_never() {
            Some(Err(end)) => Health { plane: Plane::Stopped { reason: end.to_string() }, ..health },
            _ => health,
        }
    }

    /// Writes what was proposed so far and ends; later proposals are refused. Waits at most for the time limit
    /// of a proposal, then ends regardless and leaves their outcomes unknown.
    pub async fn shutdown(&self) {
        self.inner.closing.send_replace(true);
        let limit = self.inner.config.propose_timeout;
        if self.inner.env.timeout(limit, self.inner.driver.join()).await.is_err() {
            self.abort().await;
        }
    }

    /// Ends at once, as a crash would.
    pub async fn abort(&self) {
        self.inner.driver.abort();
        // It was aborted, so how it ended says nothing.
        let _ = self.inner.driver.join().await;
    }
}

impl Meta for MetaLog {
    fn view(&self) -> Arc<State> {
        self.inner.shared.view()
    }

    fn propose(&self, command: Command) -> BoxFuture<'static, Result<Outcome, ProposeError>> {
        let queue = self.inner.queue.clone();
        let shared = Arc::clone(&self.inner.shared);
        let env = self.inner.env.clone();
        let limit = self.inner.config.propose_timeout;
        async move {
            let (proposal, mut ticket) = Proposal::new(command);
            let answered = env.timeout(limit, submit(queue, &shared, proposal, &mut ticket)).await;
            answered.unwrap_or_else(|_| Err(gave_up(&ticket, &shared, limit)))
        }
        .boxed()
    }

    fn changed(&self, after: u64) -> BoxFuture<'static, ()> {
        let mut applied = self.inner.shared.applied();
        async move {
            if applied.wait_for(|applied| *applied > after).await.is_err() {
                // The log is gone, so nothing changes any more.
                std::future::pending::<()>().await;
            }
        }
        .boxed()
    }
}

async fn submit(
    queue: mpsc::Sender<Proposal>,
    shared: &Shared,
    proposal: Proposal,
    ticket: &mut Ticket,
) -> Result<Outcome, ProposeError> {
    if queue.send(proposal).await.is_err() {
        return Err(ProposeError::Unavailable(shared.refusal()));
    }
    match (&mut ticket.answer).await {
        Ok(answer) => answer,
        Err(_) if ticket.withdraw() => Err(ProposeError::Unavailable(shared.refusal())),
        Err(_) => Err(ProposeError::Unknown(shared.refusal())),
    }
}

fn gave_up(ticket: &Ticket, shared: &Shared, limit: Duration) -> ProposeError {
    let late = format!("no outcome within {limit:?}: {}", shared.refusal());
    if ticket.withdraw() { ProposeError::Unavailable(late) } else { ProposeError::Unknown(late) }
}
