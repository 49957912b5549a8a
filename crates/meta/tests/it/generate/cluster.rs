//! Commands about nodes, sessions and keys.

use bytes::Bytes;
use kelda_format::command::{
    CloseSession, CompleteRecovery, DeleteKey, FenceSession, PutKey, RaiseFeatureLevel, RegisterNode,
    UpdateNode,
};
use kelda_format::rows::{FeatureRange, KeySpace, Nonce, SessionState, WalKind};
use kelda_format::{NodeId, SessionId};
use kelda_meta::{Command, State};

use super::Generator;

const NODES: u64 = 4;

pub fn register(make: &mut Generator, state: &State) -> Command {
    let alone = make.local && !make.random.percent(5);
    let node = NodeId(1 + make.random.below(if alone { 1 } else { NODES }));
    let latest = state.node(node).map(|row| SessionId { node, epoch: row.session_epoch });
    let takeover = if make.random.percent(70) { latest } else { None };
    let level = state.feature_level();
    let wal = if make.local == make.random.percent(97) { WalKind::Local } else { WalKind::Object };
    RegisterNode {
        node,
        nonce: Nonce([u8::try_from(make.random.below(64)).unwrap(); 16]),
        address: format!("host-{}", make.random.below(3)),
        slots: u32::try_from(make.random.below(4)).unwrap(),
        features: FeatureRange { min: 1, max: level + u16::from(make.random.percent(60)) },
        wal,
        takeover,
        at: make.now,
    }
    .into()
}

pub fn update(make: &mut Generator, state: &State) -> Command {
    let node = NodeId(1 + make.random.below(NODES + 1));
    let version = state.node(node).map_or(0, |row| row.version);
    UpdateNode {
        node,
        expected_version: make.bent(version),
        address: make.random.percent(20).then(|| "elsewhere".to_owned()),
        slots: make.random.percent(30).then_some(2),
        draining: make.random.percent(30).then(|| make.random.percent(30)),
        retire: make.random.percent(20),
    }
    .into()
}

pub fn fence(make: &mut Generator, state: &State) -> Command {
    let known: Vec<SessionId> = state.sessions().map(|row| row.id).collect();
    let session = make.random.pick(&known).unwrap_or(crate::world::session(1, 1));
    FenceSession { session, by: make.session(state) }.into()
}

pub fn close_session(make: &mut Generator, state: &State) -> Command {
    let empty: Vec<SessionId> = state
        .sessions()
        .filter(|row| row.state == SessionState::Live && state.held_count(row.id) == 0)
        .map(|row| row.id)
        .collect();
    let session = match make.random.pick(&empty) {
        Some(session) if make.random.percent(30) => session,
        _ => make.session(state),
    };
    let start = state.session(session).map_or(0, |row| row.wal_start);
    CloseSession { session, wal_start: make.bent(start) }.into()
}

/// A fenced session, or any when there is none.
pub fn fenced(make: &mut Generator, state: &State) -> SessionId {
    let fenced: Vec<SessionId> =
        state.sessions().filter(|row| row.state == SessionState::Fenced).map(|row| row.id).collect();
    make.random.pick(&fenced).unwrap_or_else(|| make.session(state))
}

pub fn complete_recovery(make: &mut Generator, state: &State) -> Command {
    let session = fenced(make, state);
    let start = state.session(session).map_or(0, |row| row.wal_start);
    CompleteRecovery { session, by: make.session(state), wal_start: make.bent(start), at: make.now }.into()
}

pub fn raise(make: &mut Generator, state: &State) -> Command {
    let level = state.feature_level();
    let expected = level.saturating_sub(u16::from(make.random.percent(20)));
    RaiseFeatureLevel { expected, level: level + u16::from(make.random.percent(80)) }.into()
}

const SPACES: [KeySpace; 6] = [
    KeySpace::Exchange,
    KeySpace::Binding,
    KeySpace::Subscription,
    KeySpace::AccessToken,
    KeySpace::Setting,
    KeySpace::VirtualHost,
];

fn key(make: &mut Generator) -> (KeySpace, Bytes) {
    let space = make.random.pick(&SPACES).unwrap();
    let length = usize::from(!make.random.percent(make.bend)) * 3;
    (space, Bytes::from(vec![u8::try_from(make.random.below(3)).unwrap(); length]))
}

pub fn put_key(make: &mut Generator, state: &State) -> Command {
    let (space, key) = key(make);
    let expected_version = match state.key(space, &key).map(|row| row.version) {
        Some(version) if !make.random.percent(20) => Some(make.bent(version)),
        _ => None,
    };
    let value = Bytes::from(vec![u8::try_from(make.random.below(3)).unwrap(); 5]);
    PutKey { space, key, value, expected_version }.into()
}

pub fn delete_key(make: &mut Generator, state: &State) -> Command {
    let (space, key) = key(make);
    let version = state.key(space, &key).map_or(1, |row| row.version);
    let expected_version = if make.random.percent(30) { version + 1 } else { version };
    DeleteKey { space, key, expected_version }.into()
}
