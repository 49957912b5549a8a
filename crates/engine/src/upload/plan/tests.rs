//! Tests of the commit's plan: whatever the segments, applying their commits gives the producer table that the entries
//! give one by one (P15).

#![allow(clippy::unwrap_used)]

use bytes::Bytes;
use kelda_format::command::{CommitObjects, NewObject, ReserveObjects};
use kelda_format::rows::{ObjectKind, ProducerId};
use kelda_format::wal::{ProducerChange, Section, StreamSection};
use kelda_format::{Batch, Block, Epoch, Offset, Outcome, SessionId, Timestamp};
use kelda_meta::producers::{ProducerClaim, ProducerTable};
use kelda_meta::{State, invariants};
use proptest::prelude::*;

use super::SegmentSummary;
use crate::held::state;

fn commit(state: &mut State, session: SessionId, number: u64, summary: &SegmentSummary) {
    let reserve = ReserveObjects { session, count: 1, at: Timestamp(2) };
    let Outcome::Reserved { first: id, .. } = state.apply(&reserve.into()).unwrap() else { panic!() };
    let command = CommitObjects {
        session,
        wal: session,
        expect_wal_start: number,
        wal_start: number + 1,
        objects: vec![NewObject { id, kind: ObjectKind::Segment, bytes: 1 }],
        parts: summary.parts(state, id),
        at: Timestamp(3),
    };
    state.apply(&command.into()).unwrap();
    invariants::check(state).unwrap();
}

/// What one step of the test does.
#[derive(Clone, Debug)]
enum Step {
    /// An append of so many records by a producer, in a new epoch of it or not.
    Append { producer: u8, new_epoch: bool, count: u32 },
    /// Forgets a producer.
    Forget { producer: u8 },
    /// The segment ends.
    Cut,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..4u8, any::<u8>(), 1..4u32).prop_map(|(producer, odds, count)| Step::Append {
            producer,
            new_epoch: odds < 20,
            count
        }),
        1 => (0..4u8).prop_map(|producer| Step::Forget { producer }),
        2 => Just(Step::Cut),
    ]
}

proptest! {
    #[test]
    fn commits_give_the_table_that_the_entries_give(steps in prop::collection::vec(step(), 1..80)) {
        let (mut state, session, stream) = state();
        let mut expected = ProducerTable::new(stream, []);
        let (mut number, mut next, mut position) = (0, Offset::ZERO, 80);
        let mut summary = SegmentSummary::default();
        let section = |section| StreamSection { stream, epoch: Epoch(0), section };
        for step in steps.into_iter().chain([Step::Cut]) {
            match step {
                Step::Append { producer, new_epoch, count } => {
                    let id = ProducerId::new(&format!("p{producer}"));
                    let claim = match expected.get(&id) {
                        Some(row) if new_epoch => ProducerClaim { id, epoch: row.epoch + 1, seq: 0 },
                        Some(row) => ProducerClaim { id, epoch: row.epoch, seq: row.seq + 1 },
                        None => ProducerClaim { id, epoch: 0, seq: 0 },
                    };
                    let at = Timestamp(next.0 + 10);
                    expected.advance(&claim, next, count, at);
                    let bodies: Vec<_> = (0..count).map(|_| kelda_format::Record::new(Bytes::from("x"))).collect();
                    let block = Block::place(&Batch::from_records(&bodies).unwrap(), stream, next, at);
                    let change = ProducerChange {
                        id: claim.id.as_str().to_owned(),
                        epoch: claim.epoch,
                        seq: claim.seq,
                        first_offset: next,
                        count,
                        at,
                    };
                    let sections = [section(Section::Records(block)), section(Section::Producer(change))];
                    summary.add(position, 256, &sections);
                    position += 256;
                    next = next.plus(u64::from(count));
                }
                Step::Forget { producer } => {
                    let id = format!("p{producer}");
                    expected.forget(&ProducerId::new(&id));
                    summary.add(position, 64, &[section(Section::ForgetProducer(id))]);
                    position += 64;
                }
                Step::Cut => {
                    if summary.streams().next().is_some() {
                        commit(&mut state, session, number, &summary);
                        number += 1;
                    }
                    summary = SegmentSummary::default();
                    position = 80;
                    let found: Vec<_> = state.producers(stream).cloned().collect();
                    let wanted: Vec<_> = expected.rows().cloned().collect();
                    prop_assert_eq!(found, wanted);
                    prop_assert_eq!(state.stream(stream).unwrap().end, next);
                }
            }
        }
    }
}

#[test]
fn a_seal_without_records_keeps_end_and_time() {
    let (mut state, session, stream) = state();
    let section = |section| StreamSection { stream, epoch: Epoch(0), section };
    let block = Block::place(&Batch::single(Bytes::from("x")).unwrap(), stream, Offset::ZERO, Timestamp(50));
    let mut first = SegmentSummary::default();
    first.add(80, 256, &[section(Section::Records(block))]);
    commit(&mut state, session, 0, &first);
    let mut second = SegmentSummary::default();
    second.add(80, 96, &[section(Section::Seal)]);
    commit(&mut state, session, 1, &second);
    let row = state.stream(stream).unwrap();
    assert_eq!((row.end, row.last_timestamp, row.sealed), (Offset(1), Timestamp(50), true));
}
