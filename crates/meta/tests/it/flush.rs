//! Log entries and the table of flushes (P21).

use kelda_format::command::{PutKey, RegisterNode, ReserveObjects};
use kelda_format::rows::{KeySpace, Nonce};
use kelda_format::{ClusterId, LogEntry, ObjectId, SessionId};
use kelda_meta::{ApplyError, Command, Outcome, Rejection, State};

use crate::world::{CLUSTER, NOW, bytes, registration, session};

fn entry(session: Option<SessionId>, flush: u64, nonce: u8, commands: Vec<Command>) -> LogEntry {
    LogEntry { cluster: CLUSTER, session, flush, nonce: Nonce([nonce; 16]), commands }
}

fn registered() -> (State, SessionId) {
    let mut state = State::new(CLUSTER);
    let register: RegisterNode = registration(1, 1);
    let results = state.apply_entry(1, &entry(None, 0, 1, vec![register.into()])).unwrap();
    assert_eq!(results, [Ok(Outcome::Registered { session: session(1, 1) })]);
    (state, session(1, 1))
}

fn reserve(session: SessionId) -> Command {
    ReserveObjects { session, count: 2, at: NOW }.into()
}

#[test]
fn a_repeated_flush_is_answered_and_not_applied_again() {
    let (mut state, one) = registered();
    let flush = entry(Some(one), 1, 7, vec![reserve(one), reserve(session(9, 9))]);
    let first = state.apply_entry(2, &flush).unwrap();
    assert_eq!(first[0], Ok(Outcome::Reserved { first: ObjectId(1), count: 2 }));
    assert!(first[1].is_err());
    let numbers = state.numbers();
    let second = state.apply_entry(3, &flush).unwrap();
    assert_eq!(first, second);
    assert_eq!(numbers, state.numbers());
    assert_eq!(state.applied(), 3);
    assert_eq!(state.flush_outcome(one, 1), Some(&first[..]));
    assert_eq!(state.flush_outcome(one, 2), None);
}

#[test]
fn the_answer_survives_a_snapshot() {
    let (mut state, one) = registered();
    let flush = entry(Some(one), 4, 7, vec![reserve(one), reserve(session(9, 9))]);
    let first = state.apply_entry(2, &flush).unwrap();
    let mut restored = State::from_snapshot(&state.to_snapshot()).unwrap();
    assert_eq!(restored, state);
    assert_eq!(restored.apply_entry(3, &flush).unwrap(), first);
}

#[test]
fn an_older_or_foreign_flush_is_never_applied() {
    let (mut state, one) = registered();
    state.apply_entry(2, &entry(Some(one), 5, 1, vec![reserve(one)])).unwrap();
    let superseded = |flush| Err(Rejection::FlushSuperseded { flush, last: 5 });
    let numbers = state.numbers();
    let older = state.apply_entry(3, &entry(Some(one), 4, 2, vec![reserve(one), reserve(one)])).unwrap();
    assert_eq!(older, [superseded(4), superseded(4)]);
    let foreign = state.apply_entry(4, &entry(Some(one), 5, 3, vec![reserve(one)])).unwrap();
    assert_eq!(foreign, [superseded(5)]);
    assert_eq!(state.numbers(), numbers);
}

#[test]
fn entries_come_in_order_and_from_this_cluster() {
    let (mut state, one) = registered();
    let good = entry(Some(one), 1, 1, vec![reserve(one)]);
    assert_eq!(state.apply_entry(3, &good), Err(ApplyError::NotNext { expected: 2, found: 3 }));
    assert_eq!(state.apply_entry(1, &good), Err(ApplyError::NotNext { expected: 2, found: 1 }));
    let other = ClusterId([9; 16]);
    let foreign = LogEntry { cluster: other, ..good };
    assert_eq!(
        state.apply_entry(2, &foreign),
        Err(ApplyError::OtherCluster { expected: CLUSTER, found: other })
    );
    assert_eq!(state.applied(), 1);
}

#[test]
fn a_command_without_a_session_is_protected_by_its_version() {
    let mut state = State::new(CLUSTER);
    let put = PutKey { space: KeySpace::Setting, key: bytes("k"), value: bytes("v"), expected_version: None };
    let flush = entry(None, 0, 1, vec![put.into()]);
    assert_eq!(state.apply_entry(1, &flush).unwrap(), [Ok(Outcome::Stored { version: 1 })]);
    assert_eq!(state.apply_entry(2, &flush).unwrap(), [Ok(Outcome::AlreadyApplied)]);
}
