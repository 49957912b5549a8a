//! Sessions: registration, fencing, clean close, recovery (P2, P7, P9, P12).

use kelda_format::command::{
    CloseSession, CommitObjects, CompleteRecovery, FenceSession, ReserveObjects, UpdateNode,
};
use kelda_format::rows::{SessionState, WalKind};
use kelda_format::{NodeId, SessionEpoch};
use kelda_meta::{Limited, Outcome, Rejection, SessionStatus};

use crate::world::{NOW, World, part, registration, session};

#[test]
fn a_repeated_nonce_is_the_same_session() {
    let mut world = World::new();
    let one = world.node(1);
    assert_eq!(one, session(1, 1));
    assert_eq!(world.apply(registration(1, 1)), Outcome::AlreadyApplied);
}

#[test]
fn a_live_session_is_fenced_only_when_it_is_named() {
    let mut world = World::new();
    let one = world.node(1);
    assert_eq!(world.rejected(registration(1, 9)), Rejection::SessionLive { session: one });
    let mut command = registration(1, 9);
    command.takeover = Some(session(1, 7));
    assert_eq!(
        world.rejected(command.clone()),
        Rejection::Takeover { named: session(1, 7), latest: Some(SessionEpoch(1)) }
    );
    command.takeover = Some(one);
    assert_eq!(world.apply(command), Outcome::Registered { session: session(1, 2) });
    assert_eq!(world.state.session(one).unwrap().state, SessionState::Fenced);
    assert_eq!(world.state.live_session(NodeId(1)).unwrap().id, session(1, 2));
    assert_eq!(
        world.rejected(ReserveObjects { session: one, count: 1, at: NOW }),
        Rejection::SessionEnded { session: one, state: SessionState::Fenced }
    );
}

#[test]
fn nothing_is_accepted_from_a_session_that_never_was() {
    let mut world = World::new();
    world.node(1);
    assert_eq!(
        world.rejected(ReserveObjects { session: session(1, 5), count: 1, at: NOW }),
        Rejection::NoSuchSession { session: session(1, 5), latest: Some(SessionEpoch(1)) }
    );
    assert_eq!(
        world.rejected(FenceSession { session: session(3, 1), by: session(1, 1) }),
        Rejection::NoSuchSession { session: session(3, 1), latest: None }
    );
}

#[test]
fn a_clean_close_holds_nothing_and_knows_its_wal() {
    let mut world = World::new();
    let one = world.node(1);
    let stream = world.create("a");
    world.open(stream, one);
    world.append(stream, one, 3);
    let close = CloseSession { session: one, wal_start: 1 };
    assert_eq!(world.rejected(close.clone()), Rejection::SessionHolds { session: one, streams: 1 });
    world.apply(kelda_format::command::CloseStream {
        stream,
        session: one,
        epoch: kelda_format::Epoch(0),
        end: kelda_format::Offset(3),
        deadline: None,
    });
    assert_eq!(
        world.rejected(CloseSession { session: one, wal_start: 0 }),
        Rejection::WalStart { session: one, expected: 0, actual: 1 }
    );
    assert_eq!(world.apply(close.clone()), Outcome::Applied);
    assert_eq!(world.apply(close), Outcome::AlreadyApplied);
    let mut again = registration(1, 2);
    again.takeover = Some(one);
    assert_eq!(world.apply(again), Outcome::Registered { session: session(1, 2) });
    assert!(matches!(
        world.rejected(FenceSession { session: one, by: session(1, 2) }),
        Rejection::SessionEnded { .. }
    ));
}

#[test]
fn recovery_is_of_a_fenced_session_at_the_wal_start_that_is() {
    let mut world = World::new();
    let (one, two) = (world.node(1), world.node(2));
    let complete = CompleteRecovery { session: one, by: two, wal_start: 0, at: NOW };
    assert_eq!(
        world.rejected(complete.clone()),
        Rejection::SessionNotFenced { session: one, state: SessionState::Live }
    );
    let stream = world.create("a");
    world.open(stream, one);
    let object = world.reserve(two, 1);
    let commit = CommitObjects {
        session: two,
        ..world.commit_of(one, &[object], vec![part(stream, 0, 0, 4, object)])
    };
    assert_eq!(
        world.rejected(commit.clone()),
        Rejection::SessionNotFenced { session: one, state: SessionState::Live }
    );
    world.fence(one, two);
    assert_eq!(world.apply(FenceSession { session: one, by: two }), Outcome::AlreadyApplied);
    assert_eq!(world.apply(commit.clone()), Outcome::Committed { dropped: 0 });
    assert_eq!(world.apply(commit), Outcome::AlreadyApplied);
    assert_eq!(
        world.rejected(complete.clone()),
        Rejection::WalStart { session: one, expected: 0, actual: 1 }
    );
    let complete = CompleteRecovery { wal_start: 1, ..complete };
    assert_eq!(world.apply(complete.clone()), Outcome::Applied);
    assert_eq!(world.apply(complete), Outcome::AlreadyApplied);
    assert_eq!((world.owner(stream), world.end(stream)), (None, 4));
}

#[test]
fn a_local_wal_is_alone_and_recovered_at_home() {
    let mut world = World::new();
    let mut command = registration(1, 1);
    command.wal = WalKind::Local;
    world.apply(command);
    assert_eq!(world.rejected(registration(2, 2)), Rejection::NotAlone { node: NodeId(1) });
    let mut again = registration(1, 3);
    again.wal = WalKind::Local;
    again.takeover = Some(session(1, 1));
    world.apply(again);
    let complete = CompleteRecovery { session: session(1, 1), by: session(1, 2), wal_start: 0, at: NOW };
    assert_eq!(world.apply(complete), Outcome::Applied);

    let mut world = World::new();
    world.node(1);
    let mut command = registration(2, 2);
    command.wal = WalKind::Local;
    assert_eq!(world.rejected(command), Rejection::NotAlone { node: NodeId(1) });
}

#[test]
fn another_node_does_not_recover_a_local_wal() {
    let mut world = World::new();
    let mut command = registration(1, 1);
    command.wal = WalKind::Local;
    world.apply(command);
    let mut command = registration(1, 2);
    command.takeover = Some(session(1, 1));
    world.apply(command);
    let two = world.node(2);
    assert_eq!(
        world.rejected(CompleteRecovery { session: session(1, 1), by: two, wal_start: 0, at: NOW }),
        Rejection::LocalWal { session: session(1, 1), by: two }
    );
}

#[test]
fn ended_sessions_are_forgotten_but_not_unknown() {
    let mut world = World::new();
    let mut latest = world.node(1);
    for nonce in 10..20 {
        world.apply(CloseSession { session: latest, wal_start: 0 });
        match world.apply(registration(1, nonce)) {
            Outcome::Registered { session } => latest = session,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(world.state.sessions().count(), 2);
    assert_eq!(world.state.session_status(session(1, 1)), SessionStatus::Forgotten);
    assert_eq!(world.state.session_status(session(1, 10)), SessionStatus::Known(SessionState::Closed));
    assert_eq!(world.state.session_status(session(1, 12)), SessionStatus::Unknown);
}

#[test]
fn a_node_is_updated_at_its_version_and_retired_when_ended() {
    let mut world = World::new();
    let one = world.node(1);
    let update = UpdateNode {
        node: NodeId(1),
        expected_version: 1,
        address: None,
        slots: Some(4),
        draining: Some(true),
        retire: false,
    };
    assert_eq!(world.apply(update.clone()), Outcome::Stored { version: 2 });
    assert_eq!(world.apply(update.clone()), Outcome::AlreadyApplied);
    assert_eq!(
        world.rejected(UpdateNode { slots: Some(5), ..update.clone() }),
        Rejection::Version { expected: Some(1), current: Some(2) }
    );
    assert_eq!(
        world.rejected(UpdateNode { slots: Some(0), ..update.clone() }),
        Rejection::Limit { field: Limited::Slots, value: 0, min: 1, max: 1 << 20 }
    );
    let retire = UpdateNode { expected_version: 2, retire: true, ..update };
    assert_eq!(world.rejected(retire.clone()), Rejection::CannotRetire { session: one });
    world.apply(CloseSession { session: one, wal_start: 0 });
    assert_eq!(world.apply(retire), Outcome::Stored { version: 3 });
    let missing = UpdateNode {
        node: NodeId(8),
        expected_version: 0,
        address: None,
        slots: None,
        draining: None,
        retire: false,
    };
    assert_eq!(world.rejected(missing), Rejection::NoSuchNode { node: NodeId(8) });
}
