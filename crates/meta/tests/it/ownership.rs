//! Who holds a stream, and what may be done to one that is held (P1, P5).

use kelda_format::command::{
    CloseStream, CompleteRecovery, DeleteEntry, DeleteStream, ExpireStream, OpenStream, TrimStream,
};
use kelda_format::rows::Expiry;
use kelda_format::{Epoch, Offset, SessionId, StreamId, Timestamp};
use kelda_meta::{Outcome, Rejection};

use crate::world::{NOW, World, creation, name, session};

fn closing(stream: StreamId, session: SessionId, epoch: u64, end: u64) -> CloseStream {
    CloseStream { stream, session, epoch: Epoch(epoch), end: Offset(end), deadline: None }
}

fn deletion(stream: StreamId, session: Option<SessionId>, epoch: Option<Epoch>) -> DeleteStream {
    DeleteStream { stream, name: name("a"), session, epoch, at: NOW }
}

#[test]
fn a_held_stream_is_not_opened_again() {
    let mut world = World::new();
    let (one, two) = (world.node(1), world.node(2));
    let stream = world.create("a");
    assert_eq!(world.open(stream, one), Epoch(0));
    assert_eq!(world.rejected(OpenStream { stream, session: two }), Rejection::Held { stream, by: one });
    assert_eq!(world.apply(OpenStream { stream, session: one }), Outcome::AlreadyApplied);
}

#[test]
fn fencing_the_owner_does_not_release_but_its_recovery_does() {
    let mut world = World::new();
    let (one, two) = (world.node(1), world.node(2));
    let stream = world.create("a");
    world.open(stream, one);
    world.fence(one, two);
    assert_eq!(world.rejected(OpenStream { stream, session: two }), Rejection::Held { stream, by: one });
    world.apply(CompleteRecovery { session: one, by: two, wal_start: 0, at: NOW });
    assert_eq!(world.open(stream, two), Epoch(1));
}

#[test]
fn close_needs_owner_epoch_and_committed_end() {
    let mut world = World::new();
    let (one, two) = (world.node(1), world.node(2));
    let stream = world.create("a");
    world.open(stream, one);
    world.append(stream, one, 5);
    assert_eq!(
        world.rejected(closing(stream, two, 0, 5)),
        Rejection::NotOwner { stream, session: two, owner: Some(one) }
    );
    assert!(matches!(world.rejected(closing(stream, one, 1, 5)), Rejection::WrongEpoch { .. }));
    assert_eq!(
        world.rejected(closing(stream, one, 0, 4)),
        Rejection::WrongEnd { stream, expected: Offset(4), end: Offset(5) }
    );
    assert_eq!(world.apply(closing(stream, one, 0, 5)), Outcome::Applied);
    assert_eq!(world.apply(closing(stream, one, 0, 5)), Outcome::AlreadyApplied);
    assert_eq!(world.open(stream, two), Epoch(1));
    assert!(matches!(world.rejected(closing(stream, one, 0, 5)), Rejection::WrongEpoch { .. }));
}

#[test]
fn only_its_owner_deletes_a_held_stream() {
    let mut world = World::new();
    let (one, two) = (world.node(1), world.node(2));
    let stream = world.create("a");
    world.open(stream, one);
    let held = Rejection::Held { stream, by: one };
    assert_eq!(world.rejected(deletion(stream, None, None)), held);
    assert_eq!(world.rejected(deletion(stream, Some(two), Some(Epoch(0)))), held);
    assert_eq!(world.rejected(deletion(stream, Some(one), None)), held);
    assert!(matches!(
        world.rejected(deletion(stream, Some(one), Some(Epoch(7)))),
        Rejection::WrongEpoch { .. }
    ));
    let version = world.state.entry(&name("a")).unwrap().version;
    assert_eq!(
        world.rejected(DeleteEntry { name: name("a"), stream, expected_version: version, at: NOW }),
        held
    );
    assert_eq!(world.apply(deletion(stream, Some(one), Some(Epoch(0)))), Outcome::Applied);
    assert_eq!(world.apply(deletion(stream, Some(one), Some(Epoch(0)))), Outcome::AlreadyApplied);
    assert_eq!(world.state.held_count(one), 0);
}

#[test]
fn a_fenced_owner_ends_nothing_and_nobody_else_does_before_its_recovery() {
    let mut world = World::new();
    let (one, two) = (world.node(1), world.node(2));
    let stream = world.create("a");
    world.open(stream, one);
    world.fence(one, two);
    assert!(matches!(
        world.rejected(deletion(stream, Some(one), Some(Epoch(0)))),
        Rejection::SessionEnded { .. }
    ));
    assert_eq!(world.rejected(deletion(stream, Some(two), None)), Rejection::Held { stream, by: one });
}

#[test]
fn maintenance_expires_only_streams_that_nobody_holds() {
    let mut world = World::new();
    let one = world.node(1);
    let mut command = creation("a");
    command.expiry = Expiry::Sliding { ttl_ms: 500 };
    let stream = world.create_with(command);
    let due = NOW.plus_ms(500);
    let expiring = |session: Option<SessionId>, at| ExpireStream {
        stream,
        session,
        epoch: session.map(|_| Epoch(0)),
        at,
    };
    assert!(matches!(world.rejected(expiring(None, NOW.plus_ms(499))), Rejection::NotExpired { .. }));
    world.open(stream, one);
    assert_eq!(world.rejected(expiring(None, due)), Rejection::Held { stream, by: one });
    assert_eq!(world.apply(expiring(Some(one), due)), Outcome::Applied);
    assert_eq!(world.apply(expiring(None, due)), Outcome::AlreadyApplied);
}

#[test]
fn a_deadline_is_persisted_by_close_and_never_shortened() {
    let mut world = World::new();
    let one = world.node(1);
    let mut command = creation("a");
    command.expiry = Expiry::Sliding { ttl_ms: 500 };
    let stream = world.create_with(command);
    world.open(stream, one);
    let mut close = closing(stream, one, 0, 0);
    close.deadline = Some(NOW.plus_ms(900));
    world.apply(close.clone());
    assert_eq!(world.state.stream(stream).unwrap().deadline, Some(NOW.plus_ms(900)));
    world.open(stream, one);
    close.epoch = Epoch(1);
    close.deadline = Some(NOW.plus_ms(600));
    world.apply(close);
    assert_eq!(world.state.stream(stream).unwrap().deadline, Some(NOW.plus_ms(900)));
    let due: Vec<StreamId> = world.state.due(NOW.plus_ms(900)).map(|row| row.id).collect();
    assert_eq!(due, [stream]);
}

#[test]
fn recovery_sets_sliding_deadlines_from_its_own_time() {
    let mut world = World::new();
    let (one, two) = (world.node(1), world.node(2));
    let mut command = creation("sliding");
    command.expiry = Expiry::Sliding { ttl_ms: 500 };
    let sliding = world.create_with(command);
    let mut command = creation("absolute");
    command.expiry = Expiry::At(Timestamp(77));
    let absolute = world.create_with(command);
    world.open(sliding, one);
    world.open(absolute, one);
    world.fence(one, two);
    let at = NOW.plus_ms(10_000);
    world.apply(CompleteRecovery { session: one, by: two, wal_start: 0, at });
    assert_eq!(world.state.stream(sliding).unwrap().deadline, Some(at.plus_ms(500)));
    assert_eq!(world.state.stream(absolute).unwrap().deadline, Some(Timestamp(77)));
}

#[test]
fn unknown_and_deleted_streams_are_told_apart() {
    let mut world = World::new();
    let one = world.node(1);
    let stream = world.create("a");
    world.apply(deletion(stream, None, None));
    assert_eq!(world.rejected(OpenStream { stream, session: one }), Rejection::StreamGone { stream });
    let never = StreamId(9);
    assert_eq!(
        world.rejected(OpenStream { stream: never, session: one }),
        Rejection::NoSuchStream { stream: never, next: 2 }
    );
    assert!(matches!(
        world.rejected(OpenStream { stream, session: session(4, 1) }),
        Rejection::StreamGone { .. }
    ));
    assert_eq!(
        world.rejected(TrimStream { stream, session: None, epoch: None, before: Offset(1), at: NOW }),
        Rejection::StreamGone { stream }
    );
}
