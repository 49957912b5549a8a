//! What is true of nodes, sessions, transfers and keys.

use kelda_format::SessionId;
use kelda_format::rows::{NodeRow, SessionState, WalKind};

use crate::State;

pub(super) fn check(state: &State) -> Result<(), String> {
    let numbers = state.numbers();
    let smallest =
        numbers.next_stream.min(numbers.next_object).min(numbers.next_transfer).min(numbers.next_version);
    ensure!(smallest >= 1, "a number of the cluster is 0: {numbers:?}");
    for (id, row) in &state.nodes {
        check_node(state, row)?;
        ensure!(*id == row.node, "node {} is stored under {id}", row.node);
    }
    sessions(state)?;
    transfers(state)?;
    for ((space, key), row) in &state.keys {
        ensure!((*space, key) == (row.space, &row.key), "key {:?} is stored under {key:?}", row.key);
        ensure!(row.version < numbers.next_version, "key {key:?} has version {} of the future", row.version);
    }
    Ok(())
}

fn check_node(state: &State, row: &NodeRow) -> Result<(), String> {
    let node = row.node;
    let level = state.feature_level();
    ensure!(row.retired || row.features.contains(level), "node {node} does not know feature level {level}");
    ensure!(row.slots >= 1, "node {node} has no slots");
    let latest = SessionId { node, epoch: row.session_epoch };
    let Some(session) = state.session(latest) else {
        return Err(format!("the latest session of node {node} has no row"));
    };
    ensure!(session.nonce == row.nonce, "node {node} and its latest session have different nonces");
    let ended = matches!(session.state, SessionState::Closed | SessionState::Recovered);
    ensure!(!row.retired || ended, "node {node} is retired with session {latest} {:?}", session.state);
    if session.wal == WalKind::Local && !row.retired {
        let other = state.nodes().find(|other| other.node != node && !other.retired);
        ensure!(other.is_none(), "node {node} has a local WAL and is not alone (P12)");
    }
    Ok(())
}

fn sessions(state: &State) -> Result<(), String> {
    for (id, row) in &state.sessions {
        ensure!(*id == row.id, "session {} is stored under {id}", row.id);
        let latest = state.node(id.node).map(|node| node.session_epoch);
        ensure!(
            latest.is_some_and(|latest| id.epoch <= latest),
            "session {id} is later than its node's {latest:?}"
        );
        let is_latest = latest == Some(id.epoch);
        ensure!(
            is_latest || row.state != SessionState::Live,
            "session {id} is live and not its node's latest"
        );
        let ended = matches!(row.state, SessionState::Closed | SessionState::Recovered);
        let held = state.held_count(*id);
        ensure!(!ended || held == 0, "session {id} is {:?} and holds {held} streams", row.state);
    }
    Ok(())
}

fn transfers(state: &State) -> Result<(), String> {
    for (stream, row) in &state.transfers {
        let id = row.id;
        ensure!(*stream == row.stream, "transfer {id} is stored under stream {stream}");
        ensure!(id.0 < state.numbers().next_transfer, "transfer {id} is of the future");
        let owner = state.stream(*stream).map(|row| (row.owner, row.epoch));
        let as_started = Some((Some(row.source), Some(row.epoch)));
        ensure!(
            owner == as_started,
            "transfer {id} of stream {stream} held by {owner:?}, started {as_started:?}"
        );
        ensure!(row.source != row.target, "transfer {id} goes to its source");
        for session in [row.source, row.target] {
            let live = state.session(session).is_some_and(|row| row.state == SessionState::Live);
            ensure!(live, "transfer {id} of session {session}, which is not live (P4)");
        }
    }
    Ok(())
}
