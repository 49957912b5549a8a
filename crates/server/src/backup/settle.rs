//! A stopped node of which everything is committed.
//!
//! Owns the recovery of what a node left that did not stop cleanly: the node itself is started without listeners, and stopped.
//! Guarantees that the data directory is locked until the result is dropped, and that all of its sessions have ended. Never
//! goes on where a start would refuse.

use std::path::Path;
use std::sync::Arc;

use clap::Command;
use kelda_engine::check::Findings;
use kelda_env::{Env, LockGuard};
use kelda_format::NodeId;
use kelda_format::keys::{MARKER_KEY, decode_marker};
use kelda_format::rows::{SessionRow, SessionState};
use kelda_meta::State;

use super::{BackupError, Place, Progress, Stage, unfinished};
use crate::check::CheckError;
use crate::config::{self, Sources};
use crate::node::{self, LOCK_FILE, META_FILE};

/// A stopped node.
pub(super) struct Stopped {
    pub(super) env: Env,
    pub(super) store: Place,
    pub(super) state: Arc<State>,
    _lock: LockGuard,
}

/// Locks the data directory of a stopped node and has everything committed that its write-ahead log holds.
pub(super) async fn settle(
    data_dir: &Path,
    store: Option<&str>,
    progress: &Progress,
) -> Result<Stopped, BackupError> {
    progress.enter(Stage::Looking);
    let name = data_dir.display().to_string();
    let stopped = look(data_dir, &name, store).await?;
    let nodes: Vec<NodeId> = unended(&stopped.state).map(|row| row.id.node).collect();
    let Some(node) = nodes.first().copied() else { return Ok(stopped) };
    if let Some(other) = nodes.iter().find(|other| **other != node) {
        return Err(BackupError::Refused(format!(
            "{name}: nodes {node} and {other} were not stopped cleanly: start and stop one of them first"
        )));
    }
    drop(stopped);
    progress.enter(Stage::Committing);
    recover(data_dir, store, node).await?;
    let stopped = look(data_dir, &name, store).await?;
    let still = unended(&stopped.state).next().map(|row| row.id);
    match still {
        None => Ok(stopped),
        Some(session) => Err(BackupError::Failed(format!(
            "{name}: session {session} has not ended though the node was stopped: was another one started meanwhile?"
        ))),
    }
}

fn unended(state: &State) -> impl Iterator<Item = &SessionRow> {
    state.sessions().filter(|row| matches!(row.state, SessionState::Live | SessionState::Fenced))
}

/// Locks the directory and reads what is there.
async fn look(data_dir: &Path, name: &str, store: Option<&str>) -> Result<Stopped, BackupError> {
    let env = Env::real_read_only(data_dir).map_err(|error| match error.is_not_found() {
        true => BackupError::Directory(CheckError::NotFound { data_dir: name.to_owned() }),
        false => BackupError::disk(name, error),
    })?;
    let disk = |error| BackupError::disk(name, error);
    if !env.disk.exists(META_FILE).await.map_err(disk)? {
        return Err(CheckError::NotADataDir { data_dir: name.to_owned() }.into());
    }
    let env = Env::real(data_dir).map_err(disk)?;
    let lock = env.disk.lock(LOCK_FILE).await.map_err(disk)?;
    if let Some(what) = unfinished(&*env.disk).await.map_err(disk)? {
        return Err(BackupError::Refused(format!("{name}: {what}")));
    }
    let mut findings = Findings::default();
    let read = crate::check::metadata_state(&env, name, &mut findings).await?;
    let state = match (read, findings.list().first()) {
        (_, Some(fault)) => {
            let what = format!("{name}: {}: {}; kelda check says more", fault.file, fault.detail);
            return Err(BackupError::Damaged(what));
        }
        (None, None) => {
            return Err(BackupError::Refused(format!("{name}: no node has stored anything in it")));
        }
        (Some(state), None) => state,
    };
    let store = Place::of_node(&env, data_dir, store).await?;
    let marker = store.store.get(MARKER_KEY).await;
    let marker = marker.map_err(|error| BackupError::store(&store.name, error))?;
    match decode_marker(&marker) {
        Ok(found) if found == state.cluster() => Ok(Stopped { env, store, state, _lock: lock }),
        Ok(found) => Err(BackupError::Refused(format!(
            "{} belongs to cluster {found}, {name} to cluster {}: name the store of this node with --store",
            store.name,
            state.cluster()
        ))),
        Err(error) => Err(BackupError::Damaged(format!("{}: object {MARKER_KEY}: {error}", store.name))),
    }
}

/// Starts the node as `kelda serve` would, but for its listeners, and stops it.
async fn recover(data_dir: &Path, store: Option<&str>, node: NodeId) -> Result<(), BackupError> {
    let mut flags = vec![
        format!("--data-dir={}", data_dir.display()),
        format!("--node-id={node}"),
        "--listen=off".to_owned(),
        "--amqp-listen=off".to_owned(),
        "--admin-listen=off".to_owned(),
    ];
    flags.extend(store.map(|store| format!("--store={store}")));
    let command = config::command(Command::new("serve").no_binary_name(true));
    let wrong = |error: String| BackupError::Refused(format!("the node's settings: {error}"));
    let matches = command.try_get_matches_from(flags).map_err(|error| wrong(error.to_string()))?;
    let loaded = config::load(&matches, &Sources::default()).map_err(|error| wrong(error.to_string()))?;
    let name = data_dir.display().to_string();
    let env = Env::real(data_dir).map_err(|error| BackupError::disk(&name, error))?;
    let node = node::prepare(env, loaded.settings).await?.start().await?;
    if node.stop().await {
        return Ok(());
    }
    Err(BackupError::Failed(format!(
        "{name}: what the node left was recovered and could not be committed; try again, or start it and see its log"
    )))
}
