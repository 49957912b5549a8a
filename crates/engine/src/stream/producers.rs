//! The producer table of an open stream as accepted so far: the committed rows of the view, and over them what
//! accepted entries changed. Owns only the changes that are not committed yet. Guarantees that what a commit carries
//! is never taken from here (P15: that is built from the WAL entries). Never grows past the changes in flight.

use std::collections::{BTreeMap, VecDeque};

use kelda_format::limits::MAX_PRODUCERS_PER_STREAM;
use kelda_format::rows::{ProducerId, ProducerRow};
use kelda_format::{Offset, StreamId, Timestamp};
use kelda_meta::State;
use kelda_meta::producers::may_forget;

/// How many of the longest idle producers one scan of a full table picks, so that not every new producer of a full
/// stream scans it.
const VICTIMS_PER_SCAN: usize = 64;

/// The accepted changes of one stream's producers. An idle stream has none.
#[derive(Debug, Default)]
pub(crate) struct Producers {
    changed: BTreeMap<ProducerId, Change>,
    /// Producers known as of the accepted tail; absent until the first producer appends.
    known: Option<usize>,
    victims: VecDeque<(ProducerId, Timestamp)>,
}

#[derive(Debug)]
struct Change {
    /// The row as accepted; none when it was forgotten.
    row: Option<ProducerRow>,
    /// The entry that changed it last.
    ordinal: u64,
}

/// What is known of one producer.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// Its row; none when it is new or may be forgotten now.
    pub(crate) row: Option<ProducerRow>,
    /// The entry that has to be durable before a duplicate is answered; 0 when it is committed.
    pub(crate) ordinal: u64,
    /// Whether there is a row that has to be forgotten before a new one is made.
    pub(crate) expired: bool,
}

impl Producers {
    /// Looks up one producer as accepted so far.
    pub(crate) fn find(
        &self,
        view: &State,
        stream: StreamId,
        start: Offset,
        id: &ProducerId,
        now: Timestamp,
    ) -> Known {
        let (row, ordinal) = match self.changed.get(id) {
            Some(change) => (change.row.clone(), change.ordinal),
            None => (view.producer(stream, id).cloned(), 0),
        };
        match row {
            Some(row) if may_forget(&row, start, now) => Known { row: None, ordinal, expired: true },
            row => Known { row, ordinal, expired: false },
        }
    }

    /// Says which producer has to go so that a new one has room, if one has to. The one that was idle longest, as of
    /// the last scan.
    pub(crate) fn victim(&mut self, view: &State, stream: StreamId) -> Option<ProducerId> {
        let known = *self.known.get_or_insert_with(|| count(&self.changed, view, stream));
        if known < MAX_PRODUCERS_PER_STREAM {
            return None;
        }
        loop {
            if self.victims.is_empty() {
                self.victims = self.longest_idle(view, stream);
            }
            let (id, last_seen) = self.victims.pop_front()?;
            let row = match self.changed.get(&id) {
                Some(change) => change.row.as_ref(),
                None => view.producer(stream, &id),
            };
            if row.is_some_and(|row| row.last_seen == last_seen) {
                return Some(id);
            }
        }
    }

    /// Records that the entry `ordinal` forgets a producer.
    pub(crate) fn forget(&mut self, id: &ProducerId, ordinal: u64) {
        self.known = self.known.map(|known| known.saturating_sub(1));
        self.changed.insert(id.clone(), Change { row: None, ordinal });
    }

    /// Records the row of a producer after the entry `ordinal`; `new` when there was none.
    pub(crate) fn advance(&mut self, row: ProducerRow, ordinal: u64, new: bool) {
        if new {
            self.known = self.known.map(|known| known + 1);
        }
        self.changed.insert(row.id.clone(), Change { row: Some(row), ordinal });
    }

    /// Drops what the view has by now: the changes of the first `entries` entries.
    pub(crate) fn drop_committed(&mut self, entries: u64) {
        self.changed.retain(|_, change| change.ordinal > entries);
        if self.changed.is_empty() {
            self.known = None;
        }
    }

    fn longest_idle(&self, view: &State, stream: StreamId) -> VecDeque<(ProducerId, Timestamp)> {
        let mut all: Vec<(Timestamp, ProducerId)> = view
            .producers(stream)
            .filter(|row| !self.changed.contains_key(&row.id))
            .chain(self.changed.values().filter_map(|change| change.row.as_ref()))
            .map(|row| (row.last_seen, row.id.clone()))
            .collect();
        all.sort();
        all.into_iter().take(VICTIMS_PER_SCAN).map(|(seen, id)| (id, seen)).collect()
    }
}

fn count(changed: &BTreeMap<ProducerId, Change>, view: &State, stream: StreamId) -> usize {
    let committed = view.stream(stream).map_or(0, |row| row.producers as usize);
    changed.iter().fold(committed, |known, (id, change)| {
        match (view.producer(stream, id).is_some(), change.row.is_some()) {
            (false, true) => known + 1,
            (true, false) => known.saturating_sub(1),
            _ => known,
        }
    })
}
