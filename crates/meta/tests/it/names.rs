//! Names and their entries: creation, change and removal.

use kelda_format::command::{CreateStream, DeleteEntry, DeleteStream, PutEntry};
use kelda_format::rows::{EntryState, Expiry, Retention};
use kelda_format::{Offset, StreamId, Timestamp};
use kelda_meta::{Limited, Outcome, Rejection};

use crate::world::{NOW, World, creation, name, session};

fn change(stream: StreamId, expected_version: u64) -> PutEntry {
    PutEntry {
        name: name("a"),
        stream,
        expected_version,
        state: None,
        expiry: None,
        retention: None,
        arguments: None,
        at: NOW,
    }
}

#[test]
fn the_first_to_create_a_name_wins() {
    let mut world = World::new();
    let stream = world.create("a");
    let entry = world.state.entry(&name("a")).unwrap().clone();
    let other = CreateStream { content_type: "application/json".to_owned(), ..creation("a") };
    assert_eq!(world.apply(other), Outcome::Exists { stream });
    assert_eq!(world.state.entry(&name("a")), Some(&entry));
}

#[test]
fn a_deleted_name_is_free_at_once_with_a_new_stream() {
    let mut world = World::new();
    let one = world.node(1);
    let stream = world.create("a");
    let delete = DeleteStream { stream, name: name("a"), session: None, epoch: None, at: NOW };
    let misnamed = DeleteStream { name: name("b"), ..delete.clone() };
    assert_eq!(world.rejected(misnamed), Rejection::NoSuchName { name: name("b") });
    world.apply(delete.clone());
    let outcome = world.apply(CreateStream { open: Some(one), ..creation("a") });
    let Outcome::Created { stream: again, .. } = outcome else { panic!("{outcome:?}") };
    assert!(again > stream);
    assert_eq!(world.state.stream(again).unwrap().start, Offset(0));
    // The repeat of the deletion does not touch the new one.
    assert_eq!(world.apply(delete), Outcome::AlreadyApplied);
    assert_eq!(world.state.entry(&name("a")).unwrap().stream, again);
}

#[test]
fn creation_checks_its_limits_and_its_session() {
    let mut world = World::new();
    let long = CreateStream { content_type: "x".repeat(257), ..creation("a") };
    assert_eq!(
        world.rejected(long),
        Rejection::Limit { field: Limited::ContentTypeBytes, value: 257, min: 0, max: 256 }
    );
    let never = CreateStream { expiry: Expiry::Sliding { ttl_ms: 0 }, ..creation("a") };
    assert!(matches!(world.rejected(never), Rejection::Limit { field: Limited::TtlMs, .. }));
    let arguments = vec![("x-max-age".to_owned(), "y".repeat(5000))];
    let wordy = CreateStream { arguments, ..creation("a") };
    assert!(matches!(world.rejected(wordy), Rejection::Limit { field: Limited::ArgumentBytes, .. }));
    let nobody = CreateStream { open: Some(session(1, 1)), ..creation("a") };
    assert!(matches!(world.rejected(nobody), Rejection::NoSuchSession { .. }));
}

#[test]
fn an_initialising_entry_becomes_live_once() {
    let mut world = World::new();
    let stream = world.create_with(CreateStream { initialising: true, ..creation("a") });
    let version = world.state.entry(&name("a")).unwrap().version;
    let live = PutEntry { state: Some(EntryState::Live), ..change(stream, version) };
    assert!(matches!(world.apply(live.clone()), Outcome::Stored { .. }));
    assert_eq!(world.apply(live), Outcome::AlreadyApplied);
    let version = world.state.entry(&name("a")).unwrap().version;
    for state in [EntryState::Initialising, EntryState::SoftDeleted] {
        let back = PutEntry { state: Some(state), ..change(stream, version) };
        assert_eq!(world.rejected(back), Rejection::EntryState { name: name("a") });
    }
}

#[test]
fn a_change_names_version_and_stream() {
    let mut world = World::new();
    let stream = world.create("a");
    let version = world.state.entry(&name("a")).unwrap().version;
    let retention = Retention { max_bytes: Some(10), ..Retention::default() };
    let bounded = PutEntry { retention: Some(retention), ..change(stream, version) };
    let stale = PutEntry { expected_version: version + 9, ..bounded.clone() };
    assert!(matches!(world.rejected(stale), Rejection::Version { .. }));
    assert!(matches!(world.apply(bounded.clone()), Outcome::Stored { .. }));
    assert_eq!(world.apply(bounded.clone()), Outcome::AlreadyApplied);
    let other = PutEntry { stream: StreamId(8), ..bounded };
    assert_eq!(
        world.rejected(other),
        Rejection::OtherStream { name: name("a"), expected: StreamId(8), stream }
    );
}

#[test]
fn a_new_expiry_runs_from_its_change() {
    let mut world = World::new();
    let stream = world.create("a");
    for (expiry, deadline) in [
        (Expiry::Sliding { ttl_ms: 40 }, Some(NOW.plus_ms(40))),
        (Expiry::At(Timestamp(5)), Some(Timestamp(5))),
        (Expiry::Never, None),
    ] {
        let version = world.state.entry(&name("a")).unwrap().version;
        world.apply(PutEntry { expiry: Some(expiry), ..change(stream, version) });
        assert_eq!(world.state.stream(stream).unwrap().deadline, deadline);
    }
}

#[test]
fn an_entry_is_removed_at_its_version() {
    let mut world = World::new();
    let stream = world.create("a");
    let version = world.state.entry(&name("a")).unwrap().version;
    let remove = DeleteEntry { name: name("a"), stream, expected_version: version, at: NOW };
    let stale = DeleteEntry { expected_version: version + 1, ..remove.clone() };
    assert!(matches!(world.rejected(stale), Rejection::Version { .. }));
    assert_eq!(world.apply(remove.clone()), Outcome::Applied);
    assert_eq!(world.apply(remove), Outcome::AlreadyApplied);
}
