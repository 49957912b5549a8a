//! Reservations and the destroy queue (P13).

use kelda_format::command::{CleanObjects, ExpireReservations, ReserveObjects};
use kelda_format::rows::DestroyReason;
use kelda_format::{ObjectId, Timestamp};
use kelda_meta::{Limited, Outcome, Rejection};

use crate::world::{NOW, World, session};

#[test]
fn ids_are_handed_out_once() {
    let mut world = World::new();
    let one = world.node(1);
    assert_eq!(world.reserve(one, 3), ObjectId(1));
    assert_eq!(world.reserve(one, 1), ObjectId(4));
    let none = ReserveObjects { session: one, count: 0, at: NOW };
    assert_eq!(
        world.rejected(none),
        Rejection::Limit { field: Limited::ReservedObjects, value: 0, min: 1, max: 4096 }
    );
}

#[test]
fn old_reservations_expire_to_the_destroy_queue() {
    let mut world = World::new();
    let (one, two) = (world.node(1), world.node(2));
    world.reserve(one, 1);
    world.reserve(two, 1);
    world.apply(ReserveObjects { session: one, count: 1, at: NOW.plus_ms(50) });
    let later = NOW.plus_ms(100);
    let expire = ExpireReservations { owner: Some(one), before: NOW.plus_ms(50), at: later };
    assert_eq!(world.apply(expire.clone()), Outcome::Applied);
    assert_eq!(world.apply(expire.clone()), Outcome::AlreadyApplied);
    assert_eq!(world.to_destroy(), [ObjectId(1)]);
    let row = world.state.objects_to_destroy().next().unwrap();
    assert_eq!((row.reason, row.queued_at), (DestroyReason::Expired, later));
    world.apply(ExpireReservations { owner: None, before: later, at: later });
    assert_eq!(world.to_destroy(), [ObjectId(1), ObjectId(2), ObjectId(3)]);
    let future = ExpireReservations { owner: None, before: later, at: NOW };
    assert_eq!(world.rejected(future), Rejection::LimitInFuture { before: later, at: NOW });
    let nobody = ExpireReservations { owner: Some(session(8, 1)), before: Timestamp(0), at: NOW };
    assert!(matches!(world.rejected(nobody), Rejection::NoSuchSession { .. }));
}

#[test]
fn only_what_is_queued_is_cleaned() {
    let mut world = World::new();
    let one = world.node(1);
    let stream = world.create("a");
    world.open(stream, one);
    let used = world.append(stream, one, 3);
    let reserved = world.reserve(one, 1);
    let clean = |objects: &[ObjectId]| CleanObjects { session: one, objects: objects.to_vec() };
    for object in [used, reserved] {
        assert_eq!(world.rejected(clean(&[object])), Rejection::ObjectInUse { object });
    }
    let never = ObjectId(70);
    assert_eq!(world.rejected(clean(&[never])), Rejection::NoSuchObject { object: never, next: 3 });
    world.apply(ExpireReservations { owner: None, before: NOW.plus_ms(1), at: NOW.plus_ms(1) });
    assert_eq!(world.apply(clean(&[reserved])), Outcome::Applied);
    assert_eq!(world.apply(clean(&[reserved])), Outcome::AlreadyApplied);
    assert!(world.to_destroy().is_empty());
}
