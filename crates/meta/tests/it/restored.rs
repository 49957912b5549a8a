//! A state that goes on from a copy: nothing of the streams is lost, nobody holds anything, and no id comes twice.

use kelda_format::command::{OpenStream, RegisterNode, ReserveObjects};
use kelda_format::rows::{Expiry, FeatureRange, NodeRow, SessionState, StreamRow, WalKind};
use kelda_format::{NodeId, StreamId, Timestamp};
use kelda_meta::{Outcome, State, invariants};

use crate::generate::Generator;
use crate::world::{CLUSTER, NOW, registration};

const AHEAD: u64 = 1 << 40;

/// A state after some hundred random commands.
fn random(seed: u64) -> (State, Timestamp) {
    let mut make = Generator::new(seed);
    let mut state = State::new(CLUSTER);
    for _ in 0..400 {
        let command = make.command(&state);
        let _ = state.apply(&command);
    }
    (state, make.now)
}

/// What must not change of a stream.
fn lasting(row: &StreamRow) -> StreamRow {
    StreamRow { owner: None, deadline: None, ..row.clone() }
}

#[test]
fn every_state_goes_on_with_all_of_its_streams() {
    let (mut held, mut reserved, mut queued, mut transfers) = (0, 0, 0, 0);
    for seed in 0..100 {
        let (state, now) = random(seed);
        invariants::check(&state).unwrap();
        let at = now.plus_ms(1);
        let restored = state.restored(AHEAD, at);
        invariants::check(&restored).unwrap_or_else(|broken| panic!("seed {seed}: {broken}"));
        assert_eq!(restored.applied(), 1);
        assert_eq!(State::from_snapshot(&restored.to_snapshot()).as_ref(), Ok(&restored));

        assert!(state.streams().map(lasting).eq(restored.streams().map(lasting)), "seed {seed}");
        let all = |state: &State| {
            let page = state.list("", None, usize::MAX);
            page.entries.into_iter().cloned().collect::<Vec<_>>()
        };
        assert_eq!(all(&state), all(&restored));
        assert!(state.objects().eq(restored.objects()));
        for row in state.streams() {
            assert!(state.refs(row.id).eq(restored.refs(row.id)));
            assert!(state.producers(row.id).eq(restored.producers(row.id)));
            let (before, after) = (row.deadline, restored.stream(row.id).unwrap().deadline);
            assert!(before <= after, "a deadline never comes nearer");
            match state.entry_of(row.id).unwrap().expiry {
                Expiry::Sliding { ttl_ms } => assert!(after >= Some(at.plus_ms(ttl_ms))),
                Expiry::Never | Expiry::At(_) => assert_eq!(before, after),
            }
            held += usize::from(row.owner.is_some());
        }

        let ended = |state| matches!(state, SessionState::Closed | SessionState::Recovered);
        assert!(restored.sessions().all(|row| ended(row.state) && restored.held_count(row.id) == 0));
        assert_eq!((restored.reservations().count(), restored.objects_to_destroy().count()), (0, 0));
        reserved += state.reservations().count();
        queued += state.objects_to_destroy().count();
        transfers += usize::from(state.streams().any(|row| state.transfer(row.id).is_some()));
        let (before, after) = (state.numbers(), restored.numbers());
        assert_eq!(after.next_object, before.next_object + AHEAD);
        assert_eq!(after.next_stream, before.next_stream + AHEAD);
    }
    assert!(
        held > 20 && reserved > 20 && queued > 20 && transfers > 5,
        "{held} {reserved} {queued} {transfers}"
    );
}

#[test]
fn any_node_takes_over_with_a_log_of_its_own() {
    let mut taken = 0;
    for seed in 0..20 {
        let (state, now) = random(seed);
        let mut restored = state.restored(AHEAD, now);
        for node in [1, 99] {
            let (wal, features) = (WalKind::Local, FeatureRange { min: 1, max: u16::MAX });
            let register = RegisterNode { wal, features, ..registration(node, 77) };
            let registered = restored.apply(&register.into());
            let Ok(Outcome::Registered { session }) = registered else {
                panic!("seed {seed}: {registered:?}")
            };
            invariants::check(&restored).unwrap();
            let first = restored.numbers().next_object;
            let reserve = ReserveObjects { session, count: 1, at: NOW };
            assert!(restored.apply(&reserve.into()).is_ok());
            assert!(first >= AHEAD);
            let streams: Vec<StreamId> = restored.streams().map(|row| row.id).collect();
            for stream in streams {
                let opened = restored.apply(&OpenStream { stream, session }.into());
                assert!(matches!(opened, Ok(Outcome::Opened { .. })), "seed {seed}: {opened:?}");
                taken += 1;
            }
            invariants::check(&restored).unwrap();
            // Another one may come only when this one is out of service again.
            restored = restored.restored(1, now);
        }
    }
    assert!(taken > 100, "{taken}");
}

#[test]
fn a_node_out_of_service_gets_a_new_version_once() {
    let (state, now) = random(3);
    let nodes = |state: &State| state.nodes().cloned().collect::<Vec<NodeRow>>();
    let once = state.restored(0, now);
    assert_eq!(nodes(&once), nodes(&once.restored(0, now)));
    assert!(nodes(&once).iter().all(|row| row.retired && row.node > NodeId(0)));
}
