//! The log on top of a backend: owns what its tests share.

mod damage;
mod following;
mod opening;
mod proposing;
mod simulation;
mod snapshots;
mod sqlite;
mod unknown;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kelda_env::Env;
use kelda_format::command::{PutKey, RegisterNode};
use kelda_format::rows::{FeatureRange, KeySpace, Nonce, WalKind};
use kelda_format::{Command, NodeId, SessionId, Timestamp};
use kelda_meta::{Meta, Outcome, State};
use kelda_metalog::{LogError, LogStore, MemoryLog, MetaLog, MetaLogConfig, OpenError};

/// How long a proposal may take in these tests.
const LIMIT: Duration = Duration::from_secs(10);

async fn try_open(env: &Env, log: &MemoryLog, config: MetaLogConfig) -> Result<MetaLog, OpenError> {
    MetaLog::open(env.clone(), Arc::new(log.clone()), config).await
}

async fn open(env: &Env, log: &MemoryLog) -> MetaLog {
    try_open(env, log, MetaLogConfig::default()).await.unwrap()
}

/// Opens a log that snapshots after so many entries.
async fn open_snapshotting(env: &Env, log: &MemoryLog, entries: u64) -> MetaLog {
    let config = MetaLogConfig { snapshot_min_entries: entries, ..MetaLogConfig::default() };
    try_open(env, log, config).await.unwrap()
}

fn put(key: &str) -> Command {
    Command::PutKey(PutKey {
        space: KeySpace::Setting,
        key: Bytes::copy_from_slice(key.as_bytes()),
        value: Bytes::from(format!("value of {key}")),
        expected_version: None,
    })
}

fn has(state: &State, key: &str) -> bool {
    state.key(KeySpace::Setting, key.as_bytes()).is_some()
}

async fn put_now(meta: &MetaLog, key: &str) {
    assert!(matches!(meta.propose(put(key)).await, Ok(Outcome::Stored { .. })), "{key}");
    assert!(has(&meta.view(), key), "{key} was answered before the view has it");
}

/// Registers a new session of a node in place of its earlier one, and stamps flushes with it.
async fn register(env: &Env, meta: &MetaLog, node: u64) -> Option<SessionId> {
    let node = NodeId(node);
    let takeover = meta.view().live_session(node).map(|row| row.id);
    let command = RegisterNode {
        node,
        nonce: Nonce(env.random.nonce()),
        address: "127.0.0.1:1".to_owned(),
        slots: 1,
        features: FeatureRange { min: 1, max: 1 },
        wal: WalKind::Object,
        takeover,
        at: Timestamp(env.clock.now()),
    };
    match meta.propose(Command::RegisterNode(command)).await {
        Ok(Outcome::Registered { session }) => {
            meta.set_session(session);
            Some(session)
        }
        _ => None,
    }
}

/// Waits until the view holds everything that the log holds.
async fn at_head(meta: &MetaLog, log: &MemoryLog) {
    loop {
        let applied = meta.view().applied();
        match log.read(applied + 1, 10_000).await {
            Ok(mut entries) => match entries.pop() {
                Some((last, _)) => meta.changed(last - 1).await,
                None => return,
            },
            Err(LogError::Truncated { .. }) => meta.changed(applied).await,
            Err(error) => panic!("{error}"),
        }
    }
}
