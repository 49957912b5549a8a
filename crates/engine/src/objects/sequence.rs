//! Who reads in sequence: owns the memory of where reads ended, so that the next one is known to go on there. Guarantees
//! that a first read somewhere is never taken for a sequence, that what is read ahead of all readers together stays within
//! its share of the cache, each having the same, and that the memory is bounded. Never knows a reader: only places.

use std::collections::BTreeMap;

use kelda_format::{Offset, StreamId};
use parking_lot::Mutex;

/// Places that are remembered; beyond it the one used longest ago is forgotten, and its reader begins a new sequence.
const MAX_PLACES: usize = 1024;

/// How far is read ahead of a reader that never has to wait: beyond it only waiting makes the window grow.
const CALM_WINDOW_BYTES: u64 = 4 << 20;

/// How far is read ahead of any reader: some tens of milliseconds at the speed at which records leave a node.
const MAX_WINDOW_BYTES: u64 = 64 << 20;

/// The places where sequences go on.
pub(super) struct Sequences {
    /// Bytes that may be fetched and not read yet, all readers together.
    share: u64,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// Bytes of all reads so far: the clock by which places grow old.
    served: u64,
    /// Grows by one with every use, so it orders the places by their last use.
    clock: u64,
    by_place: BTreeMap<Place, Sequence>,
    by_use: BTreeMap<u64, Place>,
    /// Places with a window.
    active: u64,
}

type Place = (StreamId, Offset);

#[derive(Clone, Copy, Debug)]
struct Sequence {
    used: u64,
    served: u64,
    /// Bytes read in sequence.
    run: u64,
    /// Bytes to read ahead; none after a first read.
    window: u64,
    /// Everything before it is fetched, or on its way.
    fetched: Offset,
}

/// What is to be read ahead of a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Goal {
    /// How many bytes beyond the reader.
    pub(super) window: u64,
    /// Everything before it is fetched, or on its way.
    pub(super) fetched: Offset,
}

/// A read that succeeded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) stream: StreamId,
    pub(super) from: Offset,
    pub(super) next: Offset,
    pub(super) bytes: u64,
    /// Whether it had to wait for the store.
    pub(super) waited: bool,
}

impl Sequences {
    /// Nobody reads yet; `share` as in the field.
    pub(super) fn new(share: u64) -> Sequences {
        Sequences { share, inner: Mutex::default() }
    }

    /// Remembers where a read ended.
    pub(super) fn advance(&self, step: Step) {
        let mut inner = self.inner.lock();
        inner.served += step.bytes;
        // What was read ahead of a reader that stands still is pushed out by now.
        let stale = inner.served.saturating_sub(2 * self.share);
        inner.forget_before(stale);
        let before = inner.remove((step.stream, step.from));
        let run = before.map_or(0, |before| before.run) + step.bytes;
        let window = before.map_or(0, |before| {
            let calm = (2 * run).min(CALM_WINDOW_BYTES);
            let waited = if step.waited { before.window.saturating_mul(2) } else { before.window };
            calm.max(waited).min(MAX_WINDOW_BYTES)
        });
        let fetched = before.map_or(step.next, |before| before.fetched.max(step.next));
        inner.insert((step.stream, step.next), run, window, fetched);
    }

    /// What to read ahead of who goes on at `next`; nothing unless it reads in sequence.
    pub(super) fn goal(&self, stream: StreamId, next: Offset) -> Option<Goal> {
        let inner = self.inner.lock();
        let sequence = inner.by_place.get(&(stream, next)).filter(|sequence| sequence.window > 0)?;
        let window = sequence.window.min(self.share / inner.active.max(1));
        Some(Goal { window, fetched: sequence.fetched })
    }

    /// Remembers that everything before `fetched` is on its way to who goes on at `next`.
    pub(super) fn fetched(&self, stream: StreamId, next: Offset, fetched: Offset) {
        if let Some(sequence) = self.inner.lock().by_place.get_mut(&(stream, next)) {
            sequence.fetched = sequence.fetched.max(fetched);
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.inner.lock().by_place.len()
    }
}

impl Inner {
    fn remove(&mut self, place: Place) -> Option<Sequence> {
        let sequence = self.by_place.remove(&place)?;
        self.by_use.remove(&sequence.used);
        self.active -= u64::from(sequence.window > 0);
        Some(sequence)
    }

    /// Two that read the same in step are one sequence: the one that came first reads ahead.
    fn insert(&mut self, place: Place, run: u64, window: u64, fetched: Offset) {
        let there = self.remove(place);
        let (run, window, fetched) = match there {
            Some(there) => (run.max(there.run), window.max(there.window), fetched.max(there.fetched)),
            None => (run, window, fetched),
        };
        if self.by_place.len() >= MAX_PLACES {
            self.forget_oldest();
        }
        self.clock += 1;
        self.by_use.insert(self.clock, place);
        let sequence = Sequence { used: self.clock, served: self.served, run, window, fetched };
        self.by_place.insert(place, sequence);
        self.active += u64::from(window > 0);
    }

    fn forget_before(&mut self, served: u64) {
        while let Some(place) = self.by_use.first_key_value().map(|(_, place)| *place)
            && self.by_place.get(&place).is_some_and(|sequence| sequence.served < served)
        {
            self.remove(place);
        }
    }

    fn forget_oldest(&mut self) {
        if let Some(place) = self.by_use.first_key_value().map(|(_, place)| *place) {
            self.remove(place);
        }
    }
}
