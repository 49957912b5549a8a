//! The checker sees each broken promise, in histories that were made up.

use std::collections::BTreeMap;

use kelda_format::{Offset, StreamId};
use kelda_sim::checker::{Final, check};
use kelda_sim::history::{Append, Facts, Tail};

const STREAM: StreamId = StreamId(7);

fn body(key: &str) -> String {
    format!("{key}#0/1 ")
}

fn append(key: &str, first: u64, invoked: u64, answered: u64) -> Append {
    Append { stream: STREAM, invoked, answered, first: Offset(first), bodies: vec![body(key)] }
}

/// Two appends, one after the other, both there.
fn good() -> (Facts, BTreeMap<StreamId, Final>) {
    let facts = Facts {
        appends: vec![append("a", 0, 1, 2), append("b", 1, 3, 4)],
        sent: vec![body("a"), body("b")],
        tails: vec![Tail { stream: STREAM, invoked: 5, answered: 6, tail: Offset(2) }],
        ..Facts::default()
    };
    let stored = Final { start: Offset(0), bodies: vec![body("a"), body("b")], ..Final::default() };
    (facts, BTreeMap::from([(STREAM, stored)]))
}

fn broken(change: impl FnOnce(&mut Facts, &mut Final)) -> String {
    let (mut facts, mut streams) = good();
    change(&mut facts, streams.get_mut(&STREAM).unwrap());
    check(&facts, &streams).join("\n")
}

#[test]
fn a_good_history_is_good() {
    assert_eq!(broken(|_, _| {}), "");
}

#[test]
fn a_lost_record_is_seen() {
    assert!(broken(|_, stored| drop(stored.bodies.pop())).contains("was acknowledged, None is there"));
}

#[test]
fn a_record_that_was_read_and_lost_is_seen() {
    let found = broken(|facts, _| drop(facts.seen.insert((STREAM, Offset(2)), body("c"))));
    assert!(found.contains("was read, None is there"), "{found}");
}

#[test]
fn a_record_stored_twice_is_seen() {
    assert!(broken(|_, stored| stored.bodies.push(body("a"))).contains("twice"));
}

#[test]
fn an_invented_record_is_seen() {
    assert!(broken(|_, stored| stored.bodies.push(body("z"))).contains("nobody sent"));
}

#[test]
fn a_refused_record_that_is_there_is_seen() {
    assert!(broken(|facts, _| facts.refused.push(body("b"))).contains("which was refused"));
}

#[test]
fn half_a_batch_is_seen() {
    let half = "c#0/2 ".to_owned();
    let found = broken(|facts, stored| {
        facts.sent.push(half.clone());
        stored.bodies.push(half);
    });
    assert!(found.contains("a part of a batch"), "{found}");
}

#[test]
fn an_order_against_real_time_is_seen() {
    let found = broken(|facts, stored| {
        facts.appends = vec![append("a", 1, 1, 2), append("b", 0, 3, 4)];
        stored.bodies.reverse();
    });
    assert!(found.contains("was sent after"), "{found}");
}

#[test]
fn a_tail_that_lags_or_leads_is_seen() {
    assert!(broken(|facts, _| facts.tails[0].tail = Offset(1)).contains("leaves out"));
    let early = Tail { stream: STREAM, invoked: 1, answered: 2, tail: Offset(2) };
    assert!(broken(|facts, _| facts.tails.push(early)).contains("covers the later"));
}

#[test]
fn a_trim_nobody_asked_for_is_seen() {
    let found = broken(|_, stored| {
        stored.start = Offset(1);
        stored.bodies.remove(0);
    });
    assert!(found.contains("was not trimmed to there"), "{found}");
}

#[test]
fn retention_that_left_too_little_is_seen() {
    let start_late = |stored: &mut Final, bound: u64| {
        stored.start = Offset(1);
        stored.bodies.remove(0);
        stored.max_bytes = Some(bound);
    };
    assert_eq!(broken(|_, stored| start_late(stored, 100)), "");
    assert!(broken(|_, stored| start_late(stored, 1000)).contains("was not trimmed to there"));
}

#[test]
fn a_fork_that_lost_what_its_source_had_is_seen() {
    let (facts, mut streams) = good();
    let whole = Final { parent: Some((STREAM, Offset(2))), ..streams[&STREAM].clone() };
    streams.insert(StreamId(8), whole.clone());
    assert_eq!(check(&facts, &streams).join("\n"), "");
    streams.insert(StreamId(8), Final { bodies: vec![body("a")], ..whole });
    assert!(check(&facts, &streams).join("\n").contains("was acknowledged before the fork"));
}

#[test]
fn a_seal_that_did_not_hold_is_seen() {
    let found = broken(|facts, stored| {
        facts.seal_tried.push(STREAM);
        facts.seals.insert(STREAM, (Offset(1), 5));
        stored.sealed = true;
    });
    assert!(found.contains("was sealed at 1 and ends at 2"), "{found}");
    assert!(broken(|_, stored| stored.sealed = true).contains("nobody sealed it"));
}

#[test]
fn an_append_after_the_end_of_its_stream_is_seen() {
    let (mut facts, _) = good();
    facts.delete_tried.push(STREAM);
    facts.deleted.insert(STREAM, 2);
    let found = check(&facts, &BTreeMap::new()).join("\n");
    assert!(found.contains("after its deletion"), "{found}");
    facts.delete_tried.clear();
    facts.deleted.clear();
    assert!(check(&facts, &BTreeMap::new()).join("\n").contains("nobody deleted it"));
}
