//! Trim: what it frees, and where it stops.

use kelda_format::command::TrimStream;
use kelda_format::{Epoch, Offset, SessionId, StreamId};
use kelda_meta::{Outcome, Rejection};

use crate::world::{NOW, World};

fn trim(stream: StreamId, session: Option<SessionId>, before: u64) -> TrimStream {
    TrimStream { stream, session, epoch: session.map(|_| Epoch(0)), before: Offset(before), at: NOW }
}

#[test]
fn objects_wholly_below_the_start_go_and_the_straddling_one_stays() {
    let mut world = World::new();
    let one = world.node(1);
    let stream = world.create("a");
    world.open(stream, one);
    let objects: Vec<_> = [10, 20, 30].map(|end| world.append(stream, one, end)).to_vec();
    assert_eq!(world.apply(trim(stream, Some(one), 15)), Outcome::Applied);
    assert_eq!(world.to_destroy(), objects[..1]);
    let row = world.state.stream(stream).unwrap();
    assert_eq!((row.start, row.end, row.bytes), (Offset(15), Offset(30), 20));
    assert_eq!(world.apply(trim(stream, Some(one), 15)), Outcome::AlreadyApplied);
    assert_eq!(world.apply(trim(stream, Some(one), 3)), Outcome::AlreadyApplied);
    assert_eq!(world.apply(trim(stream, None, 30)), Outcome::Applied);
    assert_eq!(world.to_destroy(), objects);
    // P18: the last time outlives the records.
    let row = world.state.stream(stream).unwrap();
    assert_eq!((row.start, row.last_timestamp.0), (Offset(30), 30));
}

#[test]
fn not_beyond_what_is_committed() {
    let mut world = World::new();
    let (one, two) = (world.node(1), world.node(2));
    let stream = world.create("a");
    world.open(stream, one);
    world.append(stream, one, 10);
    let outside = Rejection::OutOfRange { stream, offset: Offset(11), start: Offset(0), end: Offset(10) };
    assert_eq!(world.rejected(trim(stream, Some(one), 11)), outside);
    assert_eq!(world.rejected(trim(stream, None, 11)), outside);
    assert_eq!(world.rejected(trim(stream, Some(two), 5)), Rejection::Held { stream, by: one });
    let mut stale = trim(stream, Some(one), 5);
    stale.epoch = Some(Epoch(3));
    assert!(matches!(world.rejected(stale), Rejection::WrongEpoch { .. }));
}
