//! When a snapshot is due and its writing beside the driver: owns the measure of the log, guarantees one
//! snapshot at a time and that one is decoded before it may truncate anything, never blocks the apply path.

use std::sync::Arc;
use std::time::Duration;

use kelda_env::Env;
use kelda_meta::State;
use tokio::sync::oneshot;

use crate::codec;
use crate::config::SNAPSHOT_RETRY;
use crate::replica::Replica;
use crate::shared::Shared;
use crate::store::{LogStore, SnapshotPut};

/// What came of one snapshot: the index of the newest one and the bytes of this one.
pub(super) type Finished = Result<(u64, u64), String>;

/// The newest snapshot and the one being written.
#[derive(Debug)]
pub(crate) struct Snapshots {
    min_entries: u64,
    newest: u64,
    newest_bytes: u64,
    /// The replica's byte count at the newest snapshot.
    bytes_at_newest: u64,
    running: Option<Running>,
    not_before: Duration,
}

#[derive(Debug)]
struct Running {
    bytes_at_start: u64,
    result: oneshot::Receiver<Finished>,
}

impl Snapshots {
    pub(crate) fn new(min_entries: u64, newest: u64, newest_bytes: u64) -> Self {
        Self {
            min_entries,
            newest,
            newest_bytes,
            bytes_at_newest: 0,
            running: None,
            not_before: Duration::ZERO,
        }
    }

    /// The log since the newest snapshot exceeds both bounds: entries, and the bytes of that snapshot.
    fn due(&self, replica: &Replica) -> bool {
        replica.applied().saturating_sub(self.newest) > self.min_entries
            && replica.bytes() - self.bytes_at_newest > self.newest_bytes
    }

    pub(super) fn start_if_due(&mut self, env: &Env, store: &Arc<dyn LogStore>, replica: &Replica) {
        if self.running.is_some() || !self.due(replica) || env.clock.monotonic() < self.not_before {
            return;
        }
        let (answer, result) = oneshot::channel();
        let work = write(env.clone(), Arc::clone(store), Arc::clone(replica.state()));
        env.spawn("metalog-snapshot", async move {
            let _ = answer.send(work.await);
        });
        self.running = Some(Running { bytes_at_start: replica.bytes(), result });
    }

    /// The replica was just made of the newest snapshot, `bytes` long.
    pub(super) fn installed(&mut self, shared: &Shared, replica: &Replica, bytes: u64) {
        self.newest = replica.applied();
        self.newest_bytes = bytes;
        self.bytes_at_newest = replica.bytes();
        shared.set_snapshot(Ok(self.newest));
    }

    /// Resolves when the running snapshot ended; never without one.
    pub(super) async fn wait(&mut self) -> Finished {
        match &mut self.running {
            Some(running) => (&mut running.result)
                .await
                .unwrap_or_else(|_| Err("the task that writes the snapshot ended".to_owned())),
            None => std::future::pending().await,
        }
    }

    pub(super) fn finished(&mut self, env: &Env, shared: &Shared, finished: Finished) {
        let Some(running) = self.running.take() else { return };
        match finished {
            // Meanwhile the replica may have been made anew of a later one.
            Ok((index, _)) if index <= self.newest => {}
            Ok((index, bytes)) => {
                self.newest = index;
                self.newest_bytes = bytes;
                self.bytes_at_newest = running.bytes_at_start;
                shared.set_snapshot(Ok(index));
            }
            Err(reason) => {
                tracing::warn!(reason, "a metadata snapshot could not be written");
                self.not_before = env.clock.monotonic() + SNAPSHOT_RETRY;
                shared.set_snapshot(Err(reason));
            }
        }
    }
}

async fn write(env: Env, store: Arc<dyn LogStore>, state: Arc<State>) -> Finished {
    let index = state.applied();
    let encode = move || codec::encode_snapshot(&state);
    let bytes = env.blocking("metalog-snapshot", encode).await.map_err(|end| end.to_string())??;
    let size = bytes.len() as u64;
    match store.put_snapshot(index, bytes).await.map_err(|error| error.to_string())? {
        SnapshotPut::Newest => {
            tracing::info!(index, bytes = size, "metadata snapshot written");
            Ok((index, size))
        }
        SnapshotPut::Superseded { by } => Ok((by, size)),
    }
}
