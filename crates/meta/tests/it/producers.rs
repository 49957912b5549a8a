//! The pure operations of the producer table (P15).

use kelda_format::rows::{ProducerId, ProducerResult, ProducerRow};
use kelda_format::{Offset, StreamId, Timestamp};
use kelda_meta::producers::{ProducerClaim, ProducerTable, Verdict, check, may_forget};

const DAY: u64 = 24 * 60 * 60 * 1000;

fn claim(id: &str, epoch: u64, seq: u64) -> ProducerClaim {
    ProducerClaim { id: ProducerId::new(id), epoch, seq }
}

fn table() -> ProducerTable {
    ProducerTable::new(StreamId(1), Vec::new())
}

#[test]
fn sequences_begin_at_zero_and_leave_no_gap() {
    let mut table = table();
    assert_eq!(table.check(&claim("p", 4, 1)), Verdict::Gap { expected: 0 });
    assert_eq!(table.check(&claim("p", 4, 0)), Verdict::Accept);
    table.advance(&claim("p", 4, 0), Offset(10), 3, Timestamp(1));
    assert_eq!(table.check(&claim("p", 4, 2)), Verdict::Gap { expected: 1 });
    assert_eq!(table.check(&claim("p", 4, 1)), Verdict::Accept);
    assert_eq!(table.check(&claim("p", 3, 1)), Verdict::StaleEpoch { current: 4 });
    assert_eq!(table.check(&claim("p", 5, 1)), Verdict::BadStart);
    assert_eq!(table.check(&claim("p", 5, 0)), Verdict::Accept);
}

#[test]
fn the_last_eight_results_are_remembered() {
    let mut table = table();
    for seq in 0..12 {
        table.advance(&claim("p", 0, seq), Offset(seq * 2), 2, Timestamp(seq));
    }
    let row = table.get(&ProducerId::new("p")).unwrap();
    assert_eq!(row.results.iter().map(|result| result.seq).collect::<Vec<_>>(), (4..12).collect::<Vec<_>>());
    assert_eq!((row.next_offset, row.last_seen), (Offset(24), Timestamp(11)));
    let known = ProducerResult { seq: 4, first_offset: Offset(8), count: 2 };
    assert_eq!(table.check(&claim("p", 0, 4)), Verdict::Duplicate { result: Some(known), seq: 11 });
    assert_eq!(table.check(&claim("p", 0, 3)), Verdict::Duplicate { result: None, seq: 11 });
}

#[test]
fn a_new_epoch_begins_with_no_results() {
    let mut table = table();
    table.advance(&claim("p", 0, 0), Offset(0), 5, Timestamp(1));
    let row = table.advance(&claim("p", 1, 0), Offset(5), 0, Timestamp(2)).clone();
    assert_eq!(row.results, [ProducerResult { seq: 0, first_offset: Offset(5), count: 0 }]);
    assert_eq!((row.epoch, row.seq, row.next_offset), (1, 0, Offset(5)), "a seal alone is no record");
}

#[test]
fn forgetting_needs_both_no_records_and_a_week() {
    let mut table = table();
    let row = table.advance(&claim("p", 0, 0), Offset(0), 5, Timestamp(100)).clone();
    let week = Timestamp(100 + 7 * DAY);
    assert!(may_forget(&row, Offset(5), week));
    assert!(!may_forget(&row, Offset(4), week));
    assert!(!may_forget(&row, Offset(5), Timestamp(week.0 - 1)));
    assert!(!may_forget(&row, Offset(5), Timestamp(0)), "a clock that went back forgets nobody");
    assert_eq!(table.forgettable(Offset(5), week), [ProducerId::new("p")]);
    assert!(table.forget(&ProducerId::new("p")) && !table.forget(&ProducerId::new("p")));
}

#[test]
fn the_longest_idle_makes_room() {
    let row = |index: u64| ProducerRow {
        stream: StreamId(1),
        id: ProducerId::new(&format!("p{index:05}")),
        epoch: 0,
        seq: 0,
        last_seen: Timestamp(if index == 7 || index == 9 { 1 } else { 50 }),
        next_offset: Offset(1),
        results: Vec::new(),
    };
    let table = ProducerTable::new(StreamId(1), (0..9_999).map(row));
    assert_eq!(table.pushed_out_by(&ProducerId::new("new")), None);
    let table = ProducerTable::new(StreamId(1), (0..10_000).map(row));
    assert_eq!(table.pushed_out_by(&ProducerId::new("new")), Some(ProducerId::new("p00007")));
    assert_eq!(table.pushed_out_by(&ProducerId::new("p00003")), None);
}

#[test]
fn the_largest_sequence_is_no_trap() {
    let row = ProducerRow {
        stream: StreamId(1),
        id: ProducerId::new("p"),
        epoch: u64::MAX,
        seq: u64::MAX,
        last_seen: Timestamp(0),
        next_offset: Offset(0),
        results: Vec::new(),
    };
    let verdict = check(Some(&row), &claim("p", u64::MAX, u64::MAX));
    assert_eq!(verdict, Verdict::Duplicate { result: None, seq: u64::MAX });
}
