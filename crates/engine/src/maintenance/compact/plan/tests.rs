//! What merging comes to, for any order of sizes: an end, a bounded number of references, and a bounded number of moves.

use kelda_format::{ObjectId, Timestamp};
use proptest::prelude::*;

use super::*;

const STREAM: StreamId = StreamId(1);
const SEGMENT: u64 = 1 << 20;

/// A stream whose references come and are merged. Each record of it is a byte.
#[derive(Default)]
struct Model {
    refs: Vec<ObjectRefRow>,
    end: u64,
    next_object: u64,
    appended: u64,
    moved: u64,
}

impl Model {
    fn around(&self) -> Around {
        let start = self.refs.first().map_or(Offset::ZERO, |row| row.base);
        Around { stream: STREAM, segment_bytes: SEGMENT, start, leaving: Offset::ZERO }
    }

    fn row(&mut self, base: u64, end: u64, bytes: u64) -> ObjectRefRow {
        self.next_object += 1;
        ObjectRefRow {
            stream: STREAM,
            base: Offset(base),
            end: Offset(end),
            object: ObjectId(self.next_object),
            source: STREAM,
            first_timestamp: Timestamp(1),
            last_timestamp: Timestamp(1),
            bytes,
        }
    }

    fn append(&mut self, bytes: u64) {
        let row = self.row(self.end, self.end + bytes, bytes);
        self.end += bytes;
        self.appended += bytes;
        self.refs.push(row);
    }

    /// Plans and carries out once; whether there was anything to do.
    fn compact(&mut self, fixed: impl Fn(&ObjectRefRow) -> bool) -> bool {
        let merges = merges(&self.refs, &self.around(), fixed, |_| true);
        for merge in &merges {
            let (first, last) = (merge.inputs[0], *merge.inputs.last().unwrap());
            let at = self.refs.iter().position(|row| *row == first).expect("it is there");
            let found = &self.refs[at..at + merge.inputs.len()];
            assert_eq!(found, &merge.inputs[..], "inputs are neighbours, in order");
            assert!(merge.inputs.len() > 1, "one alone is not moved");
            self.moved += merge.bytes;
            let row = self.row(first.base.0, last.end.0, merge.bytes);
            self.refs.splice(at..at + merge.inputs.len(), [row]);
        }
        !merges.is_empty()
    }

    fn settle(&mut self) {
        for round in 0.. {
            if !self.compact(|_| false) {
                return;
            }
            assert!(round < 100, "it comes to an end");
        }
    }

    fn check(&self) {
        let bytes: u64 = self.refs.iter().map(|row| row.bytes).sum();
        assert_eq!(bytes, self.appended, "nothing is lost");
        assert!(self.refs.windows(2).all(|pair| pair[0].end == pair[1].base), "offsets stay");
        let bound = usize::try_from(bytes / nearly_full(SEGMENT)).unwrap() + LOOSE_REFS;
        assert!(self.refs.len() <= bound, "{} references for {bytes} bytes", self.refs.len());
    }

    /// How often a byte was moved on average.
    fn moves(&self) -> f64 {
        self.moved as f64 / self.appended as f64
    }
}

/// Sizes over all magnitudes.
fn any_bytes() -> impl Strategy<Value = u64> {
    prop_oneof![1u64..300, 300u64..20_000, 20_000u64..900_000, 900_000u64..1_100_000, 1_100_000u64..5_000_000]
}

proptest! {
    #[test]
    fn any_pattern_converges(sizes in proptest::collection::vec(any_bytes(), 1..200), every in 1usize..12) {
        let mut model = Model::default();
        for (index, bytes) in sizes.into_iter().enumerate() {
            model.append(bytes);
            if index % every == 0 {
                model.compact(|_| false);
            }
        }
        model.settle();
        model.check();
        prop_assert!(model.moves() <= 30.0, "a byte moved {} times", model.moves());
    }

    #[test]
    fn what_cannot_be_moved_is_not(sizes in proptest::collection::vec(any_bytes(), 1..100), fixed in 1u64..20) {
        let mut model = Model::default();
        sizes.into_iter().for_each(|bytes| model.append(bytes));
        let fixed = |row: &ObjectRefRow| row.object.0.is_multiple_of(fixed);
        let before: Vec<ObjectRefRow> = model.refs.iter().filter(|row| fixed(row)).copied().collect();
        let found = merges(&model.refs, &model.around(), fixed, |_| true);
        prop_assert!(found.iter().flat_map(|merge| &merge.inputs).all(|row| !before.contains(row)));
    }
}

/// Appends so many references of the same size and compacts after each.
fn steady(bytes: u64, count: u64) -> Model {
    let mut model = Model::default();
    let mut most = 0;
    for _ in 0..count {
        model.append(bytes);
        while model.compact(|_| false) {}
        most = most.max(model.refs.len());
        model.check();
    }
    model
}

#[test]
fn steady_appends_move_a_byte_a_few_times() {
    for (bytes, most) in [(1_000, 8.0), (10_000, 6.0), (100_000, 3.0), (400_000, 1.1), (950_000, 0.0)] {
        let model = steady(bytes, 20 * SEGMENT / bytes);
        assert!(model.moves() <= most, "pieces of {bytes} bytes moved {} times", model.moves());
    }
}

#[test]
fn full_segments_are_never_moved() {
    let mut model = Model::default();
    (0..50).for_each(|_| model.append(SEGMENT - 5000));
    assert!(!model.compact(|_| false));
}

#[test]
fn small_ones_between_large_ones_do_not_stay() {
    let mut model = Model::default();
    for _ in 0..100 {
        model.append(100);
        model.append(SEGMENT);
        model.compact(|_| false);
    }
    model.settle();
    model.check();
    assert!(model.moves() <= 1.01, "each large one moved once: {}", model.moves());
}

#[test]
fn what_leaves_soon_and_what_a_fork_shares_stays() {
    let mut model = Model::default();
    (0..20).for_each(|_| model.append(1000));
    let around = Around { leaving: Offset(20_000), ..model.around() };
    assert_eq!(merges(&model.refs, &around, |_| false, |_| true), []);
    model.refs.iter_mut().for_each(|row| row.source = StreamId(0));
    assert_eq!(merges(&model.refs, &model.around(), |_| false, |_| true), []);
}

#[test]
fn a_trimmed_prefix_is_dropped_when_that_pays() {
    let mut model = Model::default();
    model.append(SEGMENT);
    model.append(SEGMENT);
    let started = |start: u64| Around { start: Offset(start), ..model.around() };
    let planned = |start: u64, alone: bool| merges(&model.refs, &started(start), |_| false, |_| alone);
    assert_eq!(planned(SEGMENT / 2 - 1, true), []);
    assert_eq!(planned(SEGMENT / 2, true), [merge(&model.refs[..1])]);
    assert_eq!(planned(SEGMENT / 2, false), [], "the rest of the object keeps its bytes");
}

#[test]
fn jobs_are_of_one_object_each_and_have_a_stream_once() {
    let sized = |stream: u64, bytes: u64| (StreamId(stream), Merge { inputs: Vec::new(), bytes });
    let merges =
        vec![sized(1, 10), sized(1, 20), sized(2, 30), sized(3, 95), sized(4, 40), sized(5, 40), sized(6, 5)];
    let found: Vec<Vec<u64>> = jobs(merges, 100)
        .into_iter()
        .map(|job| job.into_iter().map(|(_, merge)| merge.bytes).collect())
        .collect();
    assert_eq!(found, [vec![10], vec![95], vec![20, 30, 40], vec![40, 5]]);
}
