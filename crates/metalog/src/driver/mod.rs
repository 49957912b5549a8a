//! The one task that writes and reads the log of a node: owns the order of its work, guarantees that a view is
//! published before any answer that depends on it, never answers what it does not know.

mod catch_up;
mod flush;
mod retry;
mod snapshots;

use std::sync::Arc;

use kelda_env::Env;
use kelda_env::watch;
use tokio::sync::mpsc;

use crate::config::MAX_BATCH;
use crate::health::Plane;
use crate::proposal::Proposal;
use crate::replica::{Replica, Stop};
use crate::shared::Shared;
use crate::store::LogStore;
pub(crate) use catch_up::{Installed, install_newest, quarantine};
pub(crate) use snapshots::Snapshots;

/// What the task needs.
pub(crate) struct Driver {
    pub(crate) env: Env,
    pub(crate) store: Arc<dyn LogStore>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) replica: Replica,
    pub(crate) proposals: mpsc::Receiver<Proposal>,
    pub(crate) closing: watch::Receiver<bool>,
    pub(crate) snapshots: Snapshots,
    pub(crate) last_flush: u64,
}

enum Next {
    Close,
    Flush(Proposal),
    News,
    Snapshot(snapshots::Finished),
}

impl Driver {
    /// Works until the log is closed or cannot go on; then answers whoever still waits.
    pub(crate) async fn run(mut self) {
        match self.work().await {
            Ok(()) => self.shared.set_plane(Plane::Closed),
            Err(stop) => {
                tracing::error!(%stop, "the metadata plane stopped");
                self.shared.set_plane(Plane::Stopped { reason: stop.to_string() });
            }
        }
        self.proposals.close();
        while let Some(proposal) = self.proposals.recv().await {
            proposal.refuse(&self.shared.refusal());
        }
    }

    async fn work(&mut self) -> Result<(), Stop> {
        loop {
            match self.next().await {
                Next::Close => {
                    self.proposals.close();
                    while let Some(first) = self.proposals.recv().await {
                        self.flush_with(first).await?;
                    }
                    return Ok(());
                }
                Next::Flush(first) => self.flush_with(first).await?,
                Next::News => self.catch_up(None).await.map(drop)?,
                Next::Snapshot(finished) => self.snapshots.finished(&self.env, &self.shared, finished),
            }
            self.snapshots.start_if_due(&self.env, &self.store, &self.replica);
        }
    }

    async fn next(&mut self) -> Next {
        let applied = self.replica.applied();
        tokio::select! {
            biased;
            _ = self.closing.wait_for(|closing| *closing) => Next::Close,
            finished = self.snapshots.wait() => Next::Snapshot(finished),
            first = self.proposals.recv() => first.map_or(Next::Close, Next::Flush),
            () = self.store.wait(applied) => Next::News,
        }
    }

    async fn flush_with(&mut self, first: Proposal) -> Result<(), Stop> {
        let mut batch = vec![first];
        while batch.len() < MAX_BATCH {
            let Ok(proposal) = self.proposals.try_recv() else { break };
            batch.push(proposal);
        }
        self.flush(batch).await
    }
}
