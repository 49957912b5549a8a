//! Nodes: registration, updates and the feature level they all have to know.

use kelda_format::command::{RaiseFeatureLevel, RegisterNode, UpdateNode};
use kelda_format::rows::{NodeRow, SessionRow, SessionState, WalKind};
use kelda_format::{SessionEpoch, SessionId};

use super::limit::{self, MAX_ADDRESS_BYTES, MAX_SLOTS};
use super::session;
use crate::{Limited, Outcome, Rejection, State};

/// P2: assigns the last epoch + 1 and fences the node's earlier session. Whether that session's lease has
/// lapsed is seen by the proposer, who then names it as taken over.
pub(super) fn register(state: &mut State, command: &RegisterNode) -> Result<Outcome, Rejection> {
    let earlier = state.node(command.node);
    if earlier.is_some_and(|row| row.nonce == command.nonce) {
        return Ok(Outcome::AlreadyApplied);
    }
    limit::bytes(Limited::AddressBytes, command.address.len(), MAX_ADDRESS_BYTES)?;
    limit::within(Limited::Slots, command.slots.into(), 1, MAX_SLOTS)?;
    let level = state.feature_level();
    if !command.features.contains(level) {
        return Err(Rejection::FeatureRange { range: command.features, level });
    }
    alone_with_local_wal(state, command)?;
    let latest = earlier.map(|row| row.session_epoch);
    let fenced = taken_over(state, command, latest)?;

    let version = earlier.map_or(0, |row| row.version) + 1;
    let draining = earlier.is_some_and(|row| row.draining);
    if let Some(session) = fenced {
        session::fence_now(state, session);
    }
    session::forget_ended(state, command.node);
    let id = SessionId {
        node: command.node,
        epoch: latest.map_or(SessionEpoch(1), |epoch| SessionEpoch(epoch.0 + 1)),
    };
    state.put_node(NodeRow {
        node: command.node,
        address: command.address.clone(),
        slots: command.slots,
        draining,
        retired: false,
        features: command.features,
        session_epoch: id.epoch,
        nonce: command.nonce,
        version,
        registered: command.at,
    });
    state.put_session(SessionRow {
        id,
        nonce: command.nonce,
        state: SessionState::Live,
        wal: command.wal,
        wal_start: 0,
        last_flush: None,
    });
    Ok(Outcome::Registered { session: id })
}

/// P12: with a local WAL there is exactly one node.
fn alone_with_local_wal(state: &State, command: &RegisterNode) -> Result<(), Rejection> {
    let others = state.nodes().filter(|row| row.node != command.node && !row.retired);
    for other in others {
        let latest = SessionId { node: other.node, epoch: other.session_epoch };
        let has_local = state.session(latest).is_some_and(|row| row.wal == WalKind::Local);
        if command.wal == WalKind::Local || has_local {
            return Err(Rejection::NotAlone { node: other.node });
        }
    }
    Ok(())
}

/// The live session that the registration fences, after checking that its proposer may.
fn taken_over(
    state: &State,
    command: &RegisterNode,
    latest: Option<SessionEpoch>,
) -> Result<Option<SessionId>, Rejection> {
    let latest_id = latest.map(|epoch| SessionId { node: command.node, epoch });
    if let Some(named) = command.takeover.filter(|named| Some(*named) != latest_id) {
        return Err(Rejection::Takeover { named, latest });
    }
    match state.live_session(command.node) {
        Some(live) if command.takeover != Some(live.id) => Err(Rejection::SessionLive { session: live.id }),
        live => Ok(live.map(|row| row.id)),
    }
}

pub(super) fn update(state: &mut State, command: &UpdateNode) -> Result<Outcome, Rejection> {
    let Some(row) = state.node(command.node) else {
        return Err(Rejection::NoSuchNode { node: command.node });
    };
    let mut changed = row.clone();
    if let Some(address) = &command.address {
        limit::bytes(Limited::AddressBytes, address.len(), MAX_ADDRESS_BYTES)?;
        changed.address.clone_from(address);
    }
    if let Some(slots) = command.slots {
        limit::within(Limited::Slots, slots.into(), 1, MAX_SLOTS)?;
        changed.slots = slots;
    }
    changed.draining = command.draining.unwrap_or(row.draining);
    changed.retired = row.retired || command.retire;
    if changed == *row {
        return Ok(Outcome::AlreadyApplied);
    }
    if row.version != command.expected_version {
        return Err(Rejection::Version {
            expected: Some(command.expected_version),
            current: Some(row.version),
        });
    }
    if changed.retired && !row.retired {
        let unended = state.sessions().find(|session| {
            session.id.node == row.node && matches!(session.state, SessionState::Live | SessionState::Fenced)
        });
        if let Some(session) = unended {
            return Err(Rejection::CannotRetire { session: session.id });
        }
    }
    changed.version += 1;
    let version = changed.version;
    state.put_node(changed);
    Ok(Outcome::Stored { version })
}

/// Every node in service has to know the level. What this software knows is no part of the question, or
/// replicas of different versions would answer differently.
pub(super) fn raise_feature_level(
    state: &mut State,
    command: &RaiseFeatureLevel,
) -> Result<Outcome, Rejection> {
    let level = state.feature_level();
    if command.level == level {
        return Ok(Outcome::AlreadyApplied);
    }
    if command.expected != level || command.level < level {
        return Err(Rejection::FeatureExpected { expected: command.expected, asked: command.level, level });
    }
    if state.nodes().all(|row| row.retired) {
        return Err(Rejection::NoNodes);
    }
    let unable = state.nodes().find(|row| !row.retired && !row.features.contains(command.level));
    if let Some(row) = unable {
        return Err(Rejection::FeatureUnknown {
            node: row.node,
            max: row.features.max,
            asked: command.level,
        });
    }
    state.numbers.feature_level = command.level;
    Ok(Outcome::Applied)
}
