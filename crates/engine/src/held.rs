//! What tests of pure plans begin with: a state in which one live session holds one stream. Never part of the engine.

#![allow(clippy::unwrap_used)]

use kelda_format::command::{CreateStream, RegisterNode};
use kelda_format::rows::{Expiry, FeatureRange, Nonce, Retention, StreamKind, WalKind};
use kelda_format::{ClusterId, NodeId, Outcome, SessionId, StreamId, StreamName, Timestamp};
use kelda_meta::State;

pub(crate) const CLUSTER: ClusterId = ClusterId([1; 16]);

/// A state with one live session that holds one stream.
pub(crate) fn state() -> (State, SessionId, StreamId) {
    let mut state = State::new(CLUSTER);
    let register = RegisterNode {
        node: NodeId(1),
        nonce: Nonce([1; 16]),
        address: String::new(),
        slots: 1,
        features: FeatureRange { min: 1, max: 1 },
        wal: WalKind::Local,
        takeover: None,
        at: Timestamp(1),
    };
    let Outcome::Registered { session } = state.apply(&register.into()).unwrap() else { panic!() };
    let create = CreateStream {
        name: StreamName::parse("a").unwrap(),
        kind: StreamKind::Stream,
        content_type: String::new(),
        expiry: Expiry::Never,
        retention: Retention::default(),
        arguments: Vec::new(),
        parent: None,
        initialising: false,
        at: Timestamp(1),
        open: Some(session),
    };
    let Outcome::Created { stream, .. } = state.apply(&create.into()).unwrap() else { panic!() };
    (state, session, stream)
}
