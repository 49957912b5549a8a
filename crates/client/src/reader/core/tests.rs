//! The rules against a simple model, over all orders of events.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

/// The server and everything that ever happened, kept as plain sets.
struct Model {
    core: Core<u64>,
    told: StartAt,
    prefetch: u64,
    concurrency: usize,
    /// What the server holds.
    start: u64,
    end: u64,
    asked: Option<Ask>,
    /// Where `next` was at first.
    pinned: Option<u64>,
    given: BTreeSet<u64>,
    finished: BTreeSet<u64>,
    gone: BTreeSet<u64>,
    /// Given by this connection.
    here: BTreeSet<u64>,
    running: BTreeMap<u64, (Ticket, bool)>,
    handed: BTreeMap<u64, u32>,
    counts: Counts,
    fresh: bool,
}

impl Model {
    fn new(told: StartAt, prefetch: u64, concurrency: usize) -> Model {
        Model {
            core: Core::new(told, prefetch, concurrency),
            told,
            prefetch,
            concurrency,
            start: 3,
            end: 10,
            asked: None,
            pinned: None,
            given: BTreeSet::new(),
            finished: BTreeSet::new(),
            gone: BTreeSet::new(),
            here: BTreeSet::new(),
            running: BTreeMap::new(),
            handed: BTreeMap::new(),
            counts: Counts::default(),
            fresh: true,
        }
    }

    fn open(&self, offset: u64) -> bool {
        !self.finished.contains(&offset) && !self.gone.contains(&offset)
    }

    /// Where a new connection has to begin; nothing when that is where it was told to.
    fn restart(&self) -> Option<u64> {
        let first = *self.given.first()?;
        (first..).find(|offset| self.open(*offset))
    }

    fn ask(&mut self) {
        let Some(ask) = self.core.ask() else { return };
        assert!(self.asked.is_none(), "one question at a time");
        assert!(ask.count >= 1 && ask.count <= self.prefetch);
        if self.fresh {
            let told = match (self.restart(), self.pinned, self.told) {
                (Some(offset), ..) | (None, Some(offset), _) => StartAt::Offset(offset),
                (None, None, told) => told,
            };
            assert_eq!(ask.start, told, "where a connection begins");
            assert!(!ask.wait, "the first question does not wait");
        }
        if let StartAt::Offset(at) = ask.start {
            assert!((at..at + ask.count).all(|offset| !self.finished.contains(&offset)), "sent once");
        }
        self.asked = Some(ask);
    }

    /// The server answers with at most `limit` entries.
    fn answer(&mut self, limit: u64) {
        let Some(ask) = self.asked.take() else { return };
        let from = match ask.start {
            StartAt::Offset(at) if at < self.start => {
                assert_eq!(self.core.asked_at(), Some(at));
                self.gone.extend(at..self.start);
                self.here.retain(|offset| *offset < at || *offset >= self.start);
                if self.given.is_empty() {
                    self.pinned = Some(self.start);
                }
                self.core.gap(at, self.start);
                return;
            }
            StartAt::Offset(at) => at,
            StartAt::First => self.start,
            StartAt::Last => self.end - 1,
            _ => self.end,
        };
        assert!(from <= self.end, "never asks past the tail");
        let to = from.saturating_add(ask.count.min(limit)).min(self.end);
        if self.told == StartAt::Next && self.pinned.is_none() {
            self.pinned = Some(from);
        }
        let entries = (from..to).map(|offset| (offset, offset)).collect();
        let given =
            Given { entries, sparse: false, next: Some(to), caught_up: to == self.end, sealed: false };
        self.core.give(given).unwrap();
        self.given.extend(from..to);
        self.here.extend(from..to);
        self.fresh = false;
    }

    fn lose(&mut self) {
        self.core.lost();
        (self.asked, self.fresh) = (None, true);
        self.here.clear();
        self.running.values_mut().for_each(|(_, current)| *current = false);
    }

    fn hand_over(&mut self) {
        let Some((ticket, entry)) = self.core.hand_over() else { return };
        assert_eq!(ticket.offset, entry);
        assert!(self.running.len() < self.concurrency);
        assert!(self.here.contains(&entry) && self.open(entry), "given by this connection, and not finished");
        if self.concurrency == 1 {
            assert_eq!(self.here.iter().find(|offset| self.open(**offset)), Some(&entry), "in order");
        }
        assert!(self.running.insert(entry, (ticket, true)).is_none(), "never two copies at once");
        *self.handed.entry(entry).or_default() += 1;
    }

    fn finish(&mut self, which: usize, how: Finish) {
        let Some(&offset) = self.running.keys().nth(which % self.concurrency) else { return };
        let (ticket, current) = self.running.remove(&offset).unwrap();
        assert_eq!(self.core.is_current(ticket), current);
        assert_eq!(self.core.finish(ticket, how), current, "an old copy does not count");
        if current {
            assert!(self.finished.insert(offset), "finished once");
            match how {
                Finish::Handled => self.counts.handled += 1,
                Finish::Skipped => {
                    (self.counts.failed, self.counts.skipped) =
                        (self.counts.failed + 1, self.counts.skipped + 1);
                }
            }
        }
    }

    fn check(&self) {
        let whole = |offset: &&u64| self.given.range(..**offset).all(|below| !self.open(*below));
        assert_eq!(self.core.last_handled(), self.finished.iter().rev().find(whole).copied());
        assert_eq!(self.core.restart(), self.restart());
        assert_eq!(self.core.counts(), self.counts);
        let out = self.here.iter().filter(|offset| self.open(**offset)).count() as u64;
        assert_eq!(self.core.outstanding(), out);
        assert!(out <= self.prefetch, "prefetch is real");
        assert!(self.core.remembered() as u64 <= self.prefetch + self.concurrency as u64);
        assert_eq!(self.core.is_idle(), self.running.is_empty());
    }

    fn step(&mut self, step: (u8, u64)) {
        match step {
            (0..=39, _) => self.ask(),
            (40..=79, limit) => self.answer(1 + limit % 9),
            (80..=139, _) => self.hand_over(),
            (140..=189, which) => self.finish(which as usize, Finish::Handled),
            (190..=199, which) => self.finish(which as usize, Finish::Skipped),
            (200..=214, _) => self.lose(),
            (215..=244, more) => self.end += more % 5,
            (245..=250, _) if self.asked.is_some() => {
                self.asked = None;
                self.core.unanswered();
            }
            (245..=250, _) => {}
            (251.., more) => self.start = (self.start + more % 4).min(self.end - 1),
        }
        self.check();
    }

    /// Without further trouble everything is finished or gone.
    fn settle(&mut self) {
        for _ in 0..10_000 {
            self.ask();
            self.answer(7);
            while !self.running.is_empty() {
                self.finish(0, Finish::Handled);
            }
            self.hand_over();
            self.check();
        }
        if let Some(first) = self.given.first() {
            assert!((*first..self.end).all(|offset| !self.open(offset)), "all that was to come came");
        }
        assert_eq!(self.core.outstanding(), 0);
    }
}

fn starts() -> impl Strategy<Value = StartAt> {
    prop_oneof![
        Just(StartAt::First),
        Just(StartAt::Last),
        Just(StartAt::Next),
        (0_u64..10).prop_map(StartAt::Offset)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]
    #[test]
    fn whatever_happens_the_rules_hold(
        told in starts(),
        prefetch in 1_u64..9,
        concurrency in 1_usize..5,
        steps in prop::collection::vec((any::<u8>(), any::<u64>()), 0..200),
    ) {
        let mut model = Model::new(told, prefetch, concurrency);
        for step in steps {
            model.step(step);
        }
        if model.asked.take().is_some() {
            model.core.unanswered();
        }
        model.settle();
    }
}

fn given(range: std::ops::Range<u64>, tail: u64) -> Given<u64> {
    let caught_up = range.end == tail;
    let entries = range.clone().map(|at| (at, at)).collect();
    Given { entries, sparse: false, next: Some(range.end), caught_up, sealed: false }
}

/// A reader from the first record with these given.
fn reading(concurrency: usize, range: std::ops::Range<u64>) -> Core<u64> {
    let mut core = Core::new(StartAt::First, 10, concurrency);
    core.ask().unwrap();
    core.give(given(range.clone(), range.end)).unwrap();
    core
}

#[test]
fn a_failure_stops_at_that_entry() {
    let mut core = reading(1, 0..5);
    let (first, _) = core.hand_over().unwrap();
    assert!(core.finish(first, Finish::Handled));
    let (second, _) = core.hand_over().unwrap();
    core.fail(second);
    assert_eq!(core.last_handled(), Some(0));
    assert_eq!(core.counts(), Counts { handled: 1, failed: 1, skipped: 0 });
    assert!(core.hand_over().is_none() && core.ask().is_none() && core.is_closing());
}

#[test]
fn two_failures_count_twice_and_the_position_stays_below_both() {
    let mut core = reading(3, 0..5);
    let tickets: Vec<_> = std::iter::from_fn(|| core.hand_over()).map(|(ticket, _)| ticket).collect();
    core.fail(tickets[2]);
    assert!(core.finish(tickets[0], Finish::Handled));
    core.fail(tickets[1]);
    assert_eq!((core.last_handled(), core.counts().failed), (Some(0), 2));
}

#[test]
fn an_old_copy_moves_nothing_and_its_entry_comes_again_after_it() {
    let mut core = reading(2, 0..4);
    let (old, _) = core.hand_over().unwrap();
    let (above, _) = core.hand_over().unwrap();
    assert!(core.finish(above, Finish::Handled));
    core.lost();
    let ask = core.ask().unwrap();
    assert_eq!((ask.start, ask.count), (StartAt::Offset(0), 1), "only what is not finished");
    core.give(given(0..1, 4)).unwrap();
    assert!(core.hand_over().is_none(), "its old copy is at work");
    assert!(!core.finish(old, Finish::Handled), "which moves nothing");
    assert_eq!((core.last_handled(), core.counts().handled), (None, 1));
    let (again, entry) = core.hand_over().unwrap();
    assert_eq!(entry, 0);
    assert!(core.finish(again, Finish::Handled));
    assert_eq!(core.last_handled(), Some(1), "what was finished above it counts now");
    let ask = core.ask().unwrap();
    assert_eq!(ask.start, StartAt::Offset(2), "and is not asked for again");
}

#[test]
fn next_is_where_the_tail_was_at_first() {
    let mut core: Core<u64> = Core::new(StartAt::Next, 10, 1);
    assert_eq!(core.ask().unwrap().start, StartAt::Next);
    core.give(given(7..7, 7)).unwrap();
    core.lost();
    assert_eq!(core.ask().unwrap().start, StartAt::Offset(7));
    // A connection that was lost before anybody said where the tail is asks anew.
    let mut core: Core<u64> = Core::new(StartAt::Next, 10, 1);
    core.ask().unwrap();
    core.lost();
    assert_eq!(core.ask().unwrap().start, StartAt::Next);
}

#[test]
fn half_of_the_window_is_asked_for_at_once() {
    let mut core = reading(1, 0..10);
    for left in (1..=10).rev() {
        assert_eq!(core.wants(), left <= 5, "{left} left");
        let (ticket, _) = core.hand_over().unwrap();
        core.finish(ticket, Finish::Handled);
    }
    let ask = core.ask().unwrap();
    assert_eq!((ask.start, ask.count, ask.wait), (StartAt::Offset(10), 10, true));
}

#[test]
fn records_out_of_order_are_refused() {
    let mut core = reading(1, 0..2);
    core.ask();
    let wrong = Given { entries: vec![(2, 2), (4, 4)], ..given(2..5, 5) };
    assert_eq!(core.give(wrong), Err(Disorder { expected: 3, found: 4 }));
    let mut core = reading(1, 0..2);
    core.ask();
    assert_eq!(core.give(given(3..4, 4)), Err(Disorder { expected: 2, found: 3 }));
}

#[test]
fn what_a_server_sends_beyond_the_window_is_left_there() {
    let mut core = Core::new(StartAt::First, 3, 1);
    core.ask().unwrap();
    core.give(given(0..8, 8)).unwrap();
    assert_eq!(core.outstanding(), 3);
    while let Some((ticket, _)) = core.hand_over() {
        core.finish(ticket, Finish::Handled);
    }
    assert_eq!(core.ask().unwrap().start, StartAt::Offset(3));
}

#[test]
fn a_sealed_stream_is_exhausted_when_all_of_it_was_handed_over() {
    let mut core = Core::new(StartAt::First, 10, 1);
    core.ask().unwrap();
    core.give(Given { sealed: true, ..given(0..1, 1) }).unwrap();
    assert!(!core.is_exhausted() && core.ask().is_none());
    let (ticket, _) = core.hand_over().unwrap();
    assert!(core.is_exhausted() && !core.is_idle());
    core.finish(ticket, Finish::Handled);
    assert!(core.is_exhausted() && core.is_idle());
}

#[test]
fn so_many_before_the_tail_is_a_place_once_it_is_known() {
    let mut core: Core<u64> = Core::new(StartAt::Tail(5), 10, 1);
    assert_eq!(core.ask().unwrap().start, StartAt::Tail(5));
    core.lost();
    assert_eq!(core.ask().unwrap().start, StartAt::Tail(5), "no answer yet");
    core.give(given(0..0, 0)).unwrap();
    core.lost();
    assert_eq!(core.ask().unwrap().start, StartAt::Offset(0), "however many were written meanwhile");
}

/// Ascending entries of a transport that may leave offsets out and does not say where its end is.
fn sparse(offsets: &[u64]) -> Given<u64> {
    let entries: Vec<_> = offsets.iter().map(|at| (*at, *at)).collect();
    let next = offsets.last().map(|last| last + 1);
    Given { entries, sparse: true, next, caught_up: true, sealed: false }
}

#[test]
fn offsets_that_are_no_entries_are_passed_over() {
    let mut core: Core<u64> = Core::new(StartAt::First, 10, 1);
    core.ask().unwrap();
    core.give(sparse(&[])).unwrap();
    let ask = core.ask().unwrap();
    assert_eq!((ask.start, ask.wait, ask.unfinished), (StartAt::First, true, 0));
    core.give(sparse(&[5, 6, 9])).unwrap();
    while let Some((ticket, _)) = core.hand_over() {
        core.finish(ticket, Finish::Handled);
    }
    assert_eq!((core.last_handled(), core.restart(), core.remembered()), (Some(9), Some(10), 0));
    core.ask().unwrap();
    core.give(sparse(&[20])).unwrap();
    let (ticket, _) = core.hand_over().unwrap();
    core.lost();
    assert_eq!(core.ask().unwrap().start, StartAt::Offset(20), "the oldest that is not finished");
    core.give(sparse(&[20])).unwrap();
    assert!(!core.finish(ticket, Finish::Handled));
    assert_eq!(core.hand_over().map(|(_, entry)| entry), Some(20));
}

#[test]
fn what_is_finished_is_dropped_when_it_comes_again() {
    let mut core: Core<u64> = Core::new(StartAt::First, 10, 2);
    core.ask().unwrap();
    core.give(sparse(&[0, 1, 2])).unwrap();
    let (_, entry) = core.hand_over().unwrap();
    let (above, _) = core.hand_over().unwrap();
    core.finish(above, Finish::Handled);
    core.lost();
    assert_eq!((entry, core.ask().unwrap().count), (0, 1));
    // A transport with gaps cannot know where to stop.
    core.give(sparse(&[0, 1, 2])).unwrap();
    assert_eq!(core.outstanding(), 2, "0 again and 2");
}

#[test]
fn next_stays_next_until_something_says_where_that_is() {
    let mut core: Core<u64> = Core::new(StartAt::Next, 10, 1);
    core.ask().unwrap();
    core.give(sparse(&[])).unwrap();
    core.lost();
    assert_eq!(core.ask().unwrap().start, StartAt::Next);
    core.give(Given { next: Some(7), ..sparse(&[]) }).unwrap();
    core.lost();
    assert_eq!(core.ask().unwrap().start, StartAt::Offset(7));
    let mut core: Core<u64> = Core::new(StartAt::Next, 10, 1);
    core.ask().unwrap();
    core.give(sparse(&[3])).unwrap();
    core.lost();
    assert_eq!(core.ask().unwrap().start, StartAt::Offset(3));
}
