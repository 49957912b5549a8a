//! Commits: all or nothing, the WAL start, reservations, seals, times and producers (P7, P10, P13 to P18).

use kelda_format::command::{DeleteStream, ExpireReservations};
use kelda_format::rows::{ProducerId, ProducerResult, ProducerRow};
use kelda_format::{Epoch, ObjectId, Offset, SessionId, StreamId, Timestamp};
use kelda_meta::{Outcome, PartFault, Rejection};

use crate::world::{NOW, World, bytes, name, part, reference};

fn one_stream() -> (World, SessionId, StreamId) {
    let mut world = World::new();
    let one = world.node(1);
    let stream = world.create("a");
    world.open(stream, one);
    (world, one, stream)
}

#[test]
fn a_commit_moves_everything_together() {
    let (mut world, one, stream) = one_stream();
    let object = world.reserve(one, 1);
    let commit = world.commit_of(one, &[object], vec![part(stream, 0, 0, 7, object)]);
    assert_eq!(world.apply(commit.clone()), Outcome::Committed { dropped: 0 });
    assert_eq!(world.apply(commit), Outcome::AlreadyApplied);
    let row = world.state.stream(stream).unwrap();
    assert_eq!((row.end, row.bytes, row.last_timestamp), (Offset(7), 7, Timestamp(7)));
    assert_eq!(world.state.session(one).unwrap().wal_start, 1);
    assert_eq!(world.state.object(object).unwrap().refs, 1);
    assert_eq!(world.state.object_at(stream, Offset(6)).unwrap().object, object);
    assert_eq!(world.state.object_at(stream, Offset(7)), None);
}

#[test]
fn the_wal_start_is_as_expected_and_goes_forward() {
    let (mut world, one, stream) = one_stream();
    world.append(stream, one, 2);
    let object = world.reserve(one, 1);
    let commit = world.commit_of(one, &[object], vec![part(stream, 0, 2, 3, object)]);
    let mut stale = commit.clone();
    stale.expect_wal_start = 0;
    assert_eq!(world.rejected(stale), Rejection::WalStart { session: one, expected: 0, actual: 1 });
    let mut back = commit;
    back.wal_start = 1;
    assert_eq!(world.rejected(back), Rejection::WalStartBack { from: 1, to: 1 });
}

#[test]
fn one_bad_part_rejects_all() {
    let (mut world, one, stream) = one_stream();
    let other = world.create("b");
    world.open(other, one);
    let object = world.reserve(one, 1);
    let good = part(stream, 0, 0, 3, object);
    let mut bad = part(other, 0, 0, 3, object);
    bad.epoch = Epoch(1);
    let commit = world.commit_of(one, &[object], vec![good.clone(), bad]);
    assert!(matches!(world.rejected(commit), Rejection::WrongEpoch { .. }));
    let commit = world.commit_of(one, &[object], vec![good.clone(), part(other, 0, 1, 3, object)]);
    assert_eq!(
        world.rejected(commit),
        Rejection::WrongEnd { stream: other, expected: Offset(1), end: Offset(0) }
    );
    let commit = world.commit_of(one, &[object], vec![good.clone(), good]);
    assert_eq!(world.rejected(commit), Rejection::BadPart { stream, fault: PartFault::Twice });
}

#[test]
fn the_part_of_a_deleted_stream_is_dropped_and_its_object_destroyed() {
    let (mut world, one, stream) = one_stream();
    let doomed = world.create("b");
    world.open(doomed, one);
    let first = world.reserve(one, 2);
    let second = ObjectId(first.0 + 1);
    let commit = world.commit_of(
        one,
        &[first, second],
        vec![part(doomed, 0, 0, 3, first), part(stream, 0, 0, 3, second)],
    );
    world.apply(DeleteStream {
        stream: doomed,
        name: name("b"),
        session: Some(one),
        epoch: Some(Epoch(0)),
        at: NOW,
    });
    assert_eq!(world.apply(commit.clone()), Outcome::Committed { dropped: 1 });
    assert_eq!(world.to_destroy(), [first]);
    assert_eq!(world.end(stream), 3);
    assert_eq!(world.apply(commit), Outcome::AlreadyApplied);
}

#[test]
fn an_object_needs_a_live_reservation_of_the_proposer() {
    let (mut world, one, stream) = one_stream();
    let two = world.node(2);
    let foreign = world.reserve(two, 1);
    let commit = world.commit_of(one, &[foreign], vec![part(stream, 0, 0, 3, foreign)]);
    assert_eq!(world.rejected(commit), Rejection::NotReserved { object: foreign, session: one });
    let object = world.reserve(one, 1);
    let commit = world.commit_of(one, &[object], vec![part(stream, 0, 0, 3, object)]);
    world.apply(ExpireReservations { owner: None, before: NOW.plus_ms(1), at: NOW.plus_ms(1) });
    assert_eq!(world.rejected(commit), Rejection::NotReserved { object, session: one });
    let object = world.reserve(one, 1);
    let commit = world.commit_of(one, &[object, object], vec![part(stream, 0, 0, 3, object)]);
    assert_eq!(world.rejected(commit), Rejection::ObjectTwice { object });
}

#[test]
fn references_are_contiguous_and_in_the_commits_own_objects() {
    let (mut world, one, stream) = one_stream();
    let object = world.reserve(one, 1);
    let whole = part(stream, 0, 0, 6, object);
    let faults = [
        (vec![reference(0, 3, object)], PartFault::NotContiguous { expected: Offset(6), found: Offset(3) }),
        (
            vec![reference(0, 3, object), reference(4, 6, object)],
            PartFault::NotContiguous { expected: Offset(3), found: Offset(4) },
        ),
        (vec![reference(0, 6, ObjectId(99))], PartFault::ForeignObject { object: ObjectId(99) }),
        (Vec::new(), PartFault::NotContiguous { expected: Offset(6), found: Offset(0) }),
    ];
    for (refs, fault) in faults {
        let mut wrong = whole.clone();
        wrong.refs = refs;
        let commit = world.commit_of(one, &[object], vec![wrong]);
        assert_eq!(world.rejected(commit), Rejection::BadPart { stream, fault });
    }
    let mut back = whole.clone();
    back.refs[0].first_timestamp = Timestamp(9);
    let commit = world.commit_of(one, &[object], vec![back]);
    let fault = PartFault::TimeBack { last: Timestamp(9), found: Timestamp(5) };
    assert_eq!(world.rejected(commit), Rejection::BadPart { stream, fault });
    let mut early = whole;
    early.last_timestamp = Timestamp(4);
    let commit = world.commit_of(one, &[object], vec![early]);
    let fault = PartFault::TimeBack { last: Timestamp(5), found: Timestamp(4) };
    assert_eq!(world.rejected(commit), Rejection::BadPart { stream, fault });
}

#[test]
fn a_seal_comes_with_the_last_records_and_nothing_comes_after() {
    let (mut world, one, stream) = one_stream();
    let object = world.reserve(one, 2);
    let mut closing = part(stream, 0, 0, 4, object);
    closing.sealed = true;
    let commit = world.commit_of(one, &[object], vec![closing]);
    world.apply(commit);
    assert!(world.state.stream(stream).unwrap().sealed);
    let next = ObjectId(object.0 + 1);
    let sealed = Rejection::BadPart { stream, fault: PartFault::Sealed { end: Offset(4) } };
    let mut more = part(stream, 0, 4, 5, next);
    more.sealed = true;
    let commit = world.commit_of(one, &[next], vec![more]);
    assert_eq!(world.rejected(commit), sealed);
    let commit = world.commit_of(one, &[], vec![part(stream, 0, 4, 4, next)]);
    assert_eq!(world.rejected(commit), sealed);
}

#[test]
fn a_seal_alone_and_other_state_need_no_records() {
    let (mut world, one, stream) = one_stream();
    let mut only = part(stream, 0, 0, 0, ObjectId(1));
    only.sealed = true;
    only.stream_seq = Some(bytes("007"));
    only.checkpoint = Some(bytes("queue"));
    let commit = world.commit_of(one, &[], vec![only]);
    world.apply(commit);
    let row = world.state.stream(stream).unwrap();
    assert!(row.sealed);
    assert_eq!((row.stream_seq.clone(), row.checkpoint.clone()), (Some(bytes("007")), Some(bytes("queue"))));
}

fn producer(stream: StreamId, id: &str, epoch: u64, seq: u64, end: u64) -> ProducerRow {
    ProducerRow {
        stream,
        id: ProducerId::new(id),
        epoch,
        seq,
        last_seen: NOW,
        next_offset: Offset(end),
        results: vec![ProducerResult { seq, first_offset: Offset(end - 1), count: 1 }],
    }
}

#[test]
fn producers_are_as_of_the_committed_end_and_go_forward() {
    let (mut world, one, stream) = one_stream();
    let object = world.reserve(one, 2);
    let mut first = part(stream, 0, 0, 4, object);
    first.producers = vec![producer(stream, "p", 1, 5, 5)];
    let commit = world.commit_of(one, &[object], vec![first.clone()]);
    let fault = PartFault::ProducerBeyond { index: 0, next_offset: Offset(5), end: Offset(4) };
    assert_eq!(world.rejected(commit), Rejection::BadPart { stream, fault });
    first.producers = vec![producer(stream, "p", 1, 5, 4), producer(stream, "q", 0, 0, 3)];
    let commit = world.commit_of(one, &[object], vec![first]);
    world.apply(commit);
    assert_eq!(world.state.stream(stream).unwrap().producers, 2);
    assert_eq!(world.state.producers(stream).count(), 2);

    let next = ObjectId(object.0 + 1);
    let mut second = part(stream, 0, 4, 5, next);
    second.producers = vec![producer(stream, "p", 1, 4, 5)];
    let commit = world.commit_of(one, &[next], vec![second.clone()]);
    let fault = PartFault::ProducerBack { index: 0, epoch: 1, seq: 5 };
    assert_eq!(world.rejected(commit), Rejection::BadPart { stream, fault });
    second.forget = vec![ProducerId::new("p"), ProducerId::new("q"), ProducerId::new("never")];
    let commit = world.commit_of(one, &[next], vec![second]);
    world.apply(commit);
    let left: Vec<_> = world.state.producers(stream).map(|row| (row.id.as_str(), row.seq)).collect();
    assert_eq!(left, [("p", 4)], "forgotten, and begun anew in the same range");
}

#[test]
fn malformed_producers_are_refused() {
    let (mut world, one, stream) = one_stream();
    let object = world.reserve(one, 1);
    let good = producer(stream, "p", 0, 9, 3);
    let nine = |seq: u64| ProducerResult { seq, first_offset: Offset(0), count: 1 };
    let mut wrong = vec![
        ProducerRow { id: ProducerId::new(""), ..good.clone() },
        ProducerRow { id: ProducerId::new(&"x".repeat(257)), ..good.clone() },
        ProducerRow { results: (1..=9).map(nine).collect(), ..good.clone() },
        ProducerRow { results: vec![nine(8)], ..good.clone() },
        ProducerRow { results: vec![nine(9), nine(9)], ..good.clone() },
    ];
    for row in wrong.drain(..) {
        let mut bad = part(stream, 0, 0, 3, object);
        bad.producers = vec![row];
        let commit = world.commit_of(one, &[object], vec![bad]);
        let fault = PartFault::ProducerMalformed { index: 0 };
        assert_eq!(world.rejected(commit), Rejection::BadPart { stream, fault });
    }
    let mut twice = part(stream, 0, 0, 3, object);
    twice.producers = vec![good.clone(), good];
    let commit = world.commit_of(one, &[object], vec![twice]);
    assert_eq!(
        world.rejected(commit),
        Rejection::BadPart { stream, fault: PartFault::ForeignProducer { index: 1 } }
    );
}

#[test]
fn no_stream_has_more_than_ten_thousand_producers() {
    let (mut world, one, stream) = one_stream();
    let object = world.reserve(one, 1);
    let rows = |count: u64| {
        (0..count).map(|index| producer(stream, &format!("p{index}"), 0, 0, 1)).collect::<Vec<_>>()
    };
    let mut full = part(stream, 0, 0, 1, object);
    full.producers = rows(10_001);
    let commit = world.commit_of(one, &[object], vec![full.clone()]);
    let fault = PartFault::TooManyProducers { count: 10_001, max: 10_000 };
    assert_eq!(world.rejected(commit), Rejection::BadPart { stream, fault });
    full.producers = rows(10_000);
    let commit = world.commit_of(one, &[object], vec![full]);
    world.apply(commit);
}
