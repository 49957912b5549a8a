//! Forks: references of their own (P14), and names that stay taken while forks live.

use kelda_format::command::{CreateStream, DeleteStream, PutEntry, TrimStream};
use kelda_format::rows::{EntryState, ForkPoint, StreamKind};
use kelda_format::{Epoch, ObjectId, Offset, SessionId, StreamId};
use kelda_meta::{Outcome, Rejection, State};

use crate::world::{NOW, World, creation, name};

fn fork_of(parent: StreamId, offset: u64, text: &str) -> CreateStream {
    CreateStream { parent: Some(ForkPoint { stream: parent, offset: Offset(offset) }), ..creation(text) }
}

fn delete(world: &mut World, stream: StreamId, text: &str) {
    let row = world.state.stream(stream).unwrap();
    let (session, epoch) = (row.owner, row.owner.and(row.epoch));
    world.apply(DeleteStream { stream, name: name(text), session, epoch, at: NOW });
}

/// A stream of three objects with ten records each.
fn parent() -> (World, SessionId, StreamId, Vec<ObjectId>) {
    let mut world = World::new();
    let one = world.node(1);
    let stream = world.create("parent");
    world.open(stream, one);
    let objects = [10, 20, 30].map(|end| world.append(stream, one, end)).to_vec();
    (world, one, stream, objects)
}

fn refs_of(state: &State, objects: &[ObjectId]) -> Vec<u32> {
    objects.iter().map(|object| state.object(*object).map_or(0, |row| row.refs)).collect()
}

#[test]
fn a_fork_shares_objects_up_to_its_offset() {
    let (mut world, _, stream, objects) = parent();
    let fork = world.create_with(fork_of(stream, 15, "fork"));
    let row = world.state.stream(fork).unwrap();
    assert_eq!((row.start, row.end, row.bytes, row.epoch), (Offset(0), Offset(15), 15, None));
    assert_eq!(refs_of(&world.state, &objects), [2, 2, 1]);
    let last = world.state.refs(fork).next_back().unwrap();
    assert_eq!((last.base, last.end, last.source), (Offset(10), Offset(15), stream));
}

#[test]
fn bytes_go_when_the_last_of_them_lets_go() {
    let (mut world, one, stream, objects) = parent();
    let fork = world.create_with(fork_of(stream, 15, "fork"));
    delete(&mut world, stream, "parent");
    assert_eq!(world.to_destroy(), objects[2..]);
    world.open(fork, one);
    let own = world.append(fork, one, 20);
    world.apply(TrimStream { stream: fork, session: None, epoch: None, before: Offset(10), at: NOW });
    assert_eq!(refs_of(&world.state, &objects), [0, 1, 0]);
    delete(&mut world, fork, "fork");
    assert_eq!(world.to_destroy(), [objects[0], objects[1], objects[2], own]);
}

#[test]
fn only_within_what_the_parent_has_committed() {
    let (mut world, _, stream, _) = parent();
    world.apply(TrimStream { stream, session: None, epoch: None, before: Offset(5), at: NOW });
    for offset in [4, 31] {
        assert_eq!(
            world.rejected(fork_of(stream, offset, "fork")),
            Rejection::OutOfRange { stream, offset: Offset(offset), start: Offset(5), end: Offset(30) }
        );
    }
    let empty = world.create_with(fork_of(stream, 5, "empty"));
    assert_eq!(world.state.refs(empty).count(), 0);
    assert_eq!(world.state.stream(empty).unwrap().end, Offset(5));
    let whole = world.create_with(fork_of(stream, 30, "whole"));
    assert_eq!(world.state.refs(whole).count(), 3);
    let mut queue = fork_of(stream, 10, "queue");
    queue.kind = StreamKind::Queue;
    assert_eq!(world.rejected(queue), Rejection::CannotFork { stream, kind: StreamKind::Stream });
    assert!(matches!(world.rejected(fork_of(StreamId(50), 0, "x")), Rejection::NoSuchStream { .. }));
}

#[test]
fn a_fork_of_what_was_trimmed_empty_goes_on_in_time() {
    let (mut world, _, stream, _) = parent();
    world.apply(TrimStream { stream, session: None, epoch: None, before: Offset(30), at: NOW });
    let fork = world.create_with(fork_of(stream, 30, "fork"));
    let times = [stream, fork].map(|stream| world.state.stream(stream).unwrap().last_timestamp);
    assert_eq!(times[0], times[1]);
}

#[test]
fn an_initialising_stream_is_not_forked() {
    let mut world = World::new();
    let stream = world.create_with(CreateStream { initialising: true, ..creation("a") });
    assert!(matches!(world.rejected(fork_of(stream, 0, "fork")), Rejection::CannotFork { .. }));
}

#[test]
fn a_name_stays_taken_until_the_last_fork_is_gone() {
    let (mut world, _, stream, _) = parent();
    let child = world.create_with(fork_of(stream, 20, "child"));
    let grandchild = world.create_with(fork_of(child, 10, "grandchild"));
    let again = || creation("parent");
    delete(&mut world, stream, "parent");
    assert_eq!(world.rejected(again()), Rejection::SoftDeleted { name: name("parent"), stream });
    assert_eq!(world.state.entry(&name("parent")).unwrap().state, EntryState::SoftDeleted);
    assert!(world.state.list("parent", None, 10).entries.is_empty());
    assert!(matches!(world.rejected(fork_of(stream, 0, "late")), Rejection::StreamGone { .. }));
    let version = world.state.entry(&name("parent")).unwrap().version;
    assert!(matches!(
        world.rejected(PutEntry {
            name: name("parent"),
            stream,
            expected_version: version,
            state: Some(EntryState::Live),
            expiry: None,
            retention: None,
            arguments: None,
            at: NOW,
        }),
        Rejection::SoftDeleted { .. }
    ));
    delete(&mut world, child, "child");
    assert!(world.state.entry(&name("child")).is_some() && world.state.entry(&name("parent")).is_some());
    delete(&mut world, grandchild, "grandchild");
    assert!(world.state.entry(&name("child")).is_none() && world.state.entry(&name("parent")).is_none());
    let new = world.create("parent");
    assert!(new > grandchild, "ids are never reused");
    assert_eq!(world.state.stream(new).unwrap().end, Offset(0));
}

#[test]
fn a_fork_is_opened_by_its_creation() {
    let (mut world, one, stream, _) = parent();
    let command = CreateStream { open: Some(one), ..fork_of(stream, 20, "fork") };
    let outcome = world.apply(command);
    assert!(matches!(outcome, Outcome::Created { epoch: Some(Epoch(0)), .. }), "{outcome:?}");
}
