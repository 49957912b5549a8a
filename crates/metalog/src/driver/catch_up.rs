//! Reading what others (or an earlier run) wrote: owns the way from the applied index to the head, guarantees
//! that a reader behind the truncation bound goes on from the newest snapshot (P20), never passes an entry that
//! it has not applied or found in a snapshot.

use std::sync::Arc;

use kelda_env::Env;
use kelda_format::ClusterId;
use kelda_format::rows::Nonce;

use super::Driver;
use super::retry::Retry;
use crate::config::{MAX_REINSTALLS, READ_BATCH};
use crate::replica::{Outcomes, Replica, Stop};
use crate::shared::Shared;
use crate::store::{LogError, LogStore};

impl Driver {
    /// Reads and applies up to the head and publishes; also returns the outcomes of the entry with this nonce if
    /// it came by.
    pub(super) async fn catch_up(&mut self, own: Option<Nonce>) -> Result<Option<Outcomes>, Stop> {
        let mut retry = Retry::new();
        let mut found = None;
        loop {
            let from = self.replica.applied() + 1;
            match self.store.read(from, READ_BATCH).await {
                Ok(entries) => {
                    retry.done(Some(&self.shared));
                    if entries.is_empty() {
                        return Ok(found);
                    }
                    for (index, bytes) in &entries {
                        let (entry, outcomes) = self.replica.apply(*index, bytes)?;
                        if own == Some(entry.nonce) {
                            found = Some(outcomes);
                        }
                    }
                }
                Err(LogError::Truncated { .. }) => {
                    let newer = install_newest(
                        &self.env,
                        &self.store,
                        Some(&self.shared),
                        Some(self.replica.cluster()),
                        from,
                    );
                    let newer = newer.await?;
                    self.replica.reinstall(newer.replica);
                    self.snapshots.installed(&self.shared, &self.replica, newer.bytes);
                }
                Err(LogError::Unavailable(reason)) => {
                    retry.wait(&self.env, Some(&self.shared), &reason).await;
                    continue;
                }
                Err(error @ (LogError::Damaged(_) | LogError::Newer { .. })) => {
                    return Err(Stop::Log(error.to_string()));
                }
            }
            self.publish();
        }
    }

    pub(super) fn publish(&self) {
        self.shared.publish(Arc::clone(self.replica.state()), self.replica.applied());
    }
}

/// A replica from a snapshot, and the size of that in bytes.
#[derive(Debug)]
pub(crate) struct Installed {
    pub(crate) replica: Replica,
    pub(crate) bytes: u64,
}

/// The newest snapshot, which must hold entry `at_least`. One that does not decode is put in quarantine (P22).
pub(crate) async fn install_newest(
    env: &Env,
    store: &Arc<dyn LogStore>,
    shared: Option<&Shared>,
    cluster: Option<ClusterId>,
    at_least: u64,
) -> Result<Installed, Stop> {
    let mut retry = Retry::new();
    let mut tries = 0;
    loop {
        match store.latest_snapshot().await {
            Ok(Some((index, bytes))) if index >= at_least => {
                let decoded = Replica::decode(cluster, index, &bytes);
                if let Err(stop @ Stop::Snapshot { .. }) = &decoded {
                    quarantine(store, index, stop).await;
                }
                retry.done(shared);
                return Ok(Installed { replica: decoded?, bytes: bytes.len() as u64 });
            }
            Ok(other) if tries >= MAX_REINSTALLS => {
                let there = other.map_or("none".to_owned(), |(index, _)| index.to_string());
                return Err(Stop::Log(format!(
                    "the metadata log no longer holds entry {at_least}, nor does its newest snapshot ({there})"
                )));
            }
            Ok(_) => {
                tries += 1;
                retry.wait(env, shared, "the snapshot that a truncated log promises is not there").await;
            }
            Err(LogError::Unavailable(reason)) => retry.wait(env, shared, &reason).await,
            Err(error) => return Err(Stop::Log(error.to_string())),
        }
    }
}

/// Keeps an undecodable snapshot aside. If that fails too it is only logged: the node stops in either case, so
/// nothing of its doing deletes the snapshot.
pub(crate) async fn quarantine(store: &Arc<dyn LogStore>, index: u64, stop: &Stop) {
    if let Err(error) = store.quarantine(index, &stop.to_string()).await {
        tracing::error!(index, %error, "an undecodable snapshot could not be put in quarantine");
    }
}
