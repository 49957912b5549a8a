//! Tests of the placement plan.

#![allow(clippy::unwrap_used)]

use super::{Place, Room, Rotation, Slot};

fn room() -> Room {
    let mut room = Room::new(64, 80, 20);
    room.offer(Slot { number: 0, capacity: 1000 });
    room
}

#[test]
fn entries_follow_each_other_and_leave_room_for_the_index() {
    let mut room = room();
    assert_eq!(room.place(300, 40), Some(Place { segment: 0, position: 64 }));
    assert_eq!(room.place(300, 40), Some(Place { segment: 0, position: 364 }));
    // 664 + 200 + 80 + 40 + 100 is more than 1000.
    assert_eq!(room.place(200, 40), None);
    // 664 + 116 + 80 + 40 + 100 is exactly 1000.
    assert_eq!(room.place(116, 40), Some(Place { segment: 0, position: 664 }));
}

#[test]
fn an_entry_that_does_not_fit_goes_to_the_prepared_segment() {
    let mut room = room();
    room.place(700, 40).unwrap();
    assert_eq!(room.wants(), Some(Slot { number: 1, capacity: 0 }));
    room.offer(Slot { number: 1, capacity: 1000 });
    assert_eq!(room.wants(), None);
    assert_eq!(room.place(200, 40), Some(Place { segment: 1, position: 64 }));
    assert_eq!(room.filling(), Some(1));
}

#[test]
fn without_a_prepared_segment_only_what_fits_is_placed() {
    let mut room = room();
    room.place(500, 40).unwrap();
    assert_eq!(room.place(400, 40), None);
    assert_eq!(room.place(100, 40), Some(Place { segment: 0, position: 564 }));
}

#[test]
fn an_entry_larger_than_a_segment_gets_a_larger_one_under_the_same_number() {
    let mut room = room();
    room.place(10, 1).unwrap();
    room.offer(Slot { number: 1, capacity: 1000 });
    assert_eq!(room.place(5000, 40), None);
    let wanted = room.wants().unwrap();
    assert_eq!(wanted, Slot { number: 1, capacity: 64 + 5000 + 40 + 100 });
    assert_eq!(room.withdraw(), Some(Slot { number: 1, capacity: 1000 }));
    room.offer(Slot { number: 1, capacity: wanted.capacity });
    assert_eq!(room.place(5000, 40), Some(Place { segment: 1, position: 64 }));
    assert_eq!(room.wants(), Some(Slot { number: 2, capacity: 0 }));
}

#[test]
fn a_mark_finds_room_in_a_full_segment() {
    let mut room = room();
    room.place(796, 40).unwrap();
    assert_eq!(room.place(1, 0), None);
    assert_eq!(room.place_mark(), Some(Place { segment: 0, position: 860 }));
    assert_eq!(room.place_mark(), None, "one is enough: nothing else fits any more");
}

#[test]
fn a_segment_without_entries_is_not_passed_over() {
    let mut room = room();
    assert_eq!(room.place(5000, 40), None);
    assert_eq!(room.wants().unwrap().number, 0, "the first segment itself is made larger");
    room.unwant();
    assert_eq!(room.wants(), None);
}

#[test]
fn a_rotation_seals_what_has_entries_once() {
    let mut room = room();
    assert_eq!(room.rotate(), Rotation { seal: None, last: None });
    room.place(10, 1).unwrap();
    assert_eq!(room.rotate(), Rotation { seal: Some(0), last: Some(0) });
    assert_eq!(room.rotate(), Rotation { seal: None, last: Some(0) }, "it is being sealed already");
    assert_eq!(room.place(10, 1), None, "the next segment is not there yet");
    assert_eq!(room.place_mark(), None);
    room.offer(Slot { number: 1, capacity: 1000 });
    assert_eq!(room.place(10, 1), Some(Place { segment: 1, position: 64 }));
    room.offer(Slot { number: 2, capacity: 1000 });
    assert_eq!(room.rotate(), Rotation { seal: Some(1), last: Some(1) });
    assert_eq!(room.place(10, 1), Some(Place { segment: 2, position: 64 }));
}
