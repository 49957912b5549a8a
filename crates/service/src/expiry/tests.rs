//! The table of deadlines, without clock or task.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use kelda_format::StreamId;
use proptest::prelude::*;

use super::{RETRY_MS, Table};

const A: StreamId = StreamId(1);
const B: StreamId = StreamId(2);

#[test]
fn a_use_that_counts_slides_and_one_that_does_not_leaves_it() {
    let mut table = Table::default();
    table.put(A, 100, Some(100));
    assert!(table.enter(A, 50));
    table.leave(A, 60, false);
    assert!(!table.enter(A, 100), "the failed use did not slide");
    table.put(B, 100, Some(100));
    assert!(table.enter(B, 50));
    table.leave(B, 60, true);
    assert!(table.enter(B, 159));
    table.leave(B, 159, false);
    assert!(!table.enter(B, 160));
}

#[test]
fn what_is_in_use_does_not_expire_unless_the_time_is_absolute() {
    let mut table = Table::default();
    table.put(A, 100, Some(100));
    table.put(B, 100, None);
    assert!(table.enter(A, 10) && table.enter(B, 10));
    assert_eq!(table.take_passed(500, 10), vec![B]);
    assert!(table.enter(A, 500), "it is in use, so its deadline has not passed");
    table.leave(A, 500, false);
    table.leave(A, 500, false);
    assert!(!table.enter(A, 500));
}

#[test]
fn a_slide_never_shortens() {
    let mut table = Table::default();
    table.put(A, 1_000, Some(100));
    assert!(table.enter(A, 10));
    table.leave(A, 10, true);
    assert!(table.enter(A, 999));
    assert_eq!(table.moved(), vec![], "it did not move, so there is nothing to persist");
}

#[test]
fn the_queue_follows_a_deadline_that_moved() {
    let mut table = Table::default();
    assert!(table.put(A, 100, Some(100)), "the first look");
    assert!(!table.put(B, 200, Some(100)), "a later look wakes nobody");
    table.enter(A, 90);
    table.leave(A, 90, true);
    assert_eq!(table.next(), Some(100));
    assert_eq!(table.take_passed(100, 10), vec![]);
    assert_eq!(table.next(), Some(190), "looked at again when the moved deadline comes");
    assert_eq!(table.take_passed(200, 1), vec![A], "no more than asked for");
    assert_eq!(table.take_passed(200, 1), vec![B]);
    assert_eq!(table.next(), Some(200 + RETRY_MS), "both wait to be forgotten or tried again");
    assert_eq!(table.moved(), vec![(A, 190)]);
    table.forget(A);
    table.forget(B);
    assert_eq!((table.next(), table.len()), (None, 0));
}

proptest! {
    /// Whatever is done, a slot is queued once and at no later time than it may pass, and passed stays passed.
    #[test]
    fn never_forgotten_never_revived(steps in prop::collection::vec((0u8..4, 1u64..6, 0u64..400), 1..60)) {
        let mut table = Table::default();
        let mut now = 0;
        let mut entered: BTreeMap<StreamId, u32> = BTreeMap::new();
        let mut dead: Vec<StreamId> = Vec::new();
        for id in 1..6 {
            table.put(StreamId(id), 200, Some(200));
        }
        for (what, id, pass) in steps {
            now += pass;
            let id = StreamId(id);
            let uses = entered.entry(id).or_default();
            match what {
                0 => {
                    let alive = table.enter(id, now);
                    prop_assert!(!(alive && dead.contains(&id)), "revived");
                    if alive { *uses += 1 } else { dead.push(id) }
                }
                1 | 2 if *uses > 0 => {
                    *uses -= 1;
                    table.leave(id, now, what == 1);
                }
                _ => {
                    for id in table.take_passed(now, 2) {
                        prop_assert_eq!(entered.get(&id).copied().unwrap_or(0), 0, "expired in use");
                        dead.push(id);
                    }
                }
            }
            prop_assert_eq!(table.len(), 5);
            prop_assert!(table.next().unwrap() <= now + 200 + RETRY_MS);
        }
    }
}
