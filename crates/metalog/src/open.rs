//! Starting from what is stored: owns the way from snapshot and log to a replica at the head, guarantees that
//! nothing is written but the first entry of an empty log, never goes on without something it cannot read.

use std::sync::Arc;

use kelda_env::Env;
use kelda_format::rows::Nonce;
use kelda_format::{ClusterId, LogEntry};

use crate::config::READ_BATCH;
use crate::driver::{Installed, install_newest, quarantine};
use crate::replica::{Replica, Stop, decode_entry};
use crate::store::{AppendError, FIRST_INDEX, LogError, LogStore};

/// Why a log cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// What is stored cannot be used; trying again does not help.
    #[error(transparent)]
    Stored(#[from] Stop),
    /// The log does not answer or answers with an error.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The first entry of a new cluster could not be written.
    #[error("the log of a new cluster could not be begun: {0}")]
    Begin(AppendError),
}

/// A replica at the head of the log.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) replica: Replica,
    pub(crate) snapshot: u64,
    pub(crate) snapshot_bytes: u64,
}

pub(crate) async fn load(
    env: &Env,
    store: &Arc<dyn LogStore>,
    expected: Option<ClusterId>,
) -> Result<Loaded, OpenError> {
    let mut loaded = match store.latest_snapshot().await? {
        Some((index, bytes)) => {
            let decoded = Replica::decode(expected, index, &bytes);
            if let Err(stop @ Stop::Snapshot { .. }) = &decoded {
                quarantine(store, index, stop).await;
            }
            Loaded { replica: decoded?, snapshot: index, snapshot_bytes: bytes.len() as u64 }
        }
        None => {
            let replica = Replica::empty(begin(env, store, expected).await?);
            Loaded { replica, snapshot: 0, snapshot_bytes: 0 }
        }
    };
    read_to_head(env, store, expected, &mut loaded).await?;
    Ok(loaded)
}

/// The cluster of the first entry, which is written if the log is empty. Of two nodes that begin one log the
/// loser reads the winner's entry.
async fn begin(
    env: &Env,
    store: &Arc<dyn LogStore>,
    expected: Option<ClusterId>,
) -> Result<ClusterId, OpenError> {
    loop {
        match store.read(FIRST_INDEX, 1).await {
            Ok(entries) => {
                if let Some((index, bytes)) = entries.first() {
                    let found = decode_entry(*index, bytes)?.cluster;
                    // Compared here already, so that the error names both clusters.
                    return match expected {
                        Some(expected) if expected != found => Err(OpenError::Stored(Stop::OtherCluster {
                            what: format!("entry {index} of the metadata log"),
                            found,
                            expected,
                        })),
                        _ => Ok(found),
                    };
                }
            }
            // Others were so quick that the beginning is truncated; the snapshot has the cluster.
            Err(LogError::Truncated { .. }) => {
                return Ok(install_newest(env, store, None, expected, FIRST_INDEX).await?.replica.cluster());
            }
            Err(error) => return Err(error.into()),
        }
        let entry = LogEntry {
            cluster: expected.unwrap_or_else(|| ClusterId(env.random.nonce())),
            session: None,
            flush: 0,
            nonce: Nonce(env.random.nonce()),
            commands: Vec::new(),
        };
        match store.append(FIRST_INDEX, entry.encode()).await {
            Ok(()) | Err(AppendError::Taken { .. } | AppendError::Truncated { .. }) => {}
            Err(error) => return Err(OpenError::Begin(error)),
        }
    }
}

async fn read_to_head(
    env: &Env,
    store: &Arc<dyn LogStore>,
    expected: Option<ClusterId>,
    loaded: &mut Loaded,
) -> Result<(), OpenError> {
    loop {
        let from = loaded.replica.applied() + 1;
        match store.read(from, READ_BATCH).await {
            Ok(entries) if entries.is_empty() => return Ok(()),
            Ok(entries) => {
                for (index, bytes) in &entries {
                    loaded.replica.apply(*index, bytes)?;
                }
            }
            Err(LogError::Truncated { .. }) => {
                let Installed { replica, bytes } = install_newest(env, store, None, expected, from).await?;
                let snapshot = replica.applied();
                *loaded = Loaded { replica, snapshot, snapshot_bytes: bytes };
            }
            Err(error) => return Err(error.into()),
        }
    }
}
