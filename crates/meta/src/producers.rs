//! Idempotent producers as pure table operations (P15): used by `apply`, by the append path and by replay
//! alike, so that the three cannot disagree. Never knows a clock; times are handed in.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use kelda_format::limits::{MAX_PRODUCERS_PER_STREAM, PRODUCER_IDLE_MS, PRODUCER_RESULTS_KEPT};
use kelda_format::rows::{ProducerId, ProducerResult, ProducerRow};
use kelda_format::{Offset, StreamId, Timestamp};

/// What an append says of its producer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProducerClaim {
    /// Who.
    pub id: ProducerId,
    /// Its epoch, chosen by it.
    pub epoch: u64,
    /// The sequence of this append; 0 is the first of an epoch.
    pub seq: u64,
}

/// What the table says to a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The next sequence: append.
    Accept,
    /// It was appended before: acknowledge without appending.
    Duplicate {
        /// The original append, when it is among the last remembered.
        result: Option<ProducerResult>,
        /// The last accepted sequence.
        seq: u64,
    },
    /// A newer epoch of the producer has been seen.
    StaleEpoch {
        /// The newest epoch seen.
        current: u64,
    },
    /// Sequences are missing in between.
    Gap {
        /// The sequence that would be accepted.
        expected: u64,
    },
    /// A new epoch has to begin with sequence 0.
    BadStart,
}

/// Judges a claim against the producer's row.
#[must_use]
pub fn check(row: Option<&ProducerRow>, claim: &ProducerClaim) -> Verdict {
    let Some(row) = row else {
        return if claim.seq == 0 { Verdict::Accept } else { Verdict::Gap { expected: 0 } };
    };
    if claim.epoch < row.epoch {
        return Verdict::StaleEpoch { current: row.epoch };
    }
    if claim.epoch > row.epoch {
        return if claim.seq == 0 { Verdict::Accept } else { Verdict::BadStart };
    }
    if claim.seq <= row.seq {
        let result = row.results.iter().find(|result| result.seq == claim.seq).copied();
        return Verdict::Duplicate { result, seq: row.seq };
    }
    match row.seq + 1 {
        expected if expected == claim.seq => Verdict::Accept,
        expected => Verdict::Gap { expected },
    }
}

/// The row after an accepted append of `count` records from `first_offset` on at time `at`. Does not judge:
/// replay takes entries by offset and epoch, never by the duplicate check (P15).
#[must_use]
pub fn advance(
    row: Option<&ProducerRow>,
    stream: StreamId,
    claim: &ProducerClaim,
    first_offset: Offset,
    count: u32,
    at: Timestamp,
) -> ProducerRow {
    let same_epoch = row.filter(|row| row.epoch == claim.epoch);
    let mut results = same_epoch.map(|row| row.results.clone()).unwrap_or_default();
    if results.len() >= PRODUCER_RESULTS_KEPT {
        results.drain(..=results.len() - PRODUCER_RESULTS_KEPT);
    }
    results.push(ProducerResult { seq: claim.seq, first_offset, count });
    let earlier_end = row.map_or(Offset::ZERO, |row| row.next_offset);
    ProducerRow {
        stream,
        id: claim.id.clone(),
        epoch: claim.epoch,
        seq: claim.seq,
        last_seen: row.map_or(at, |row| row.last_seen.max(at)),
        next_offset: if count == 0 { earlier_end } else { first_offset.plus(u64::from(count)) },
        results,
    }
}

/// Whether a producer may be forgotten: none of its records is held and it was idle for 7 days.
#[must_use]
pub fn may_forget(row: &ProducerRow, start: Offset, now: Timestamp) -> bool {
    row.next_offset <= start && now.0.saturating_sub(row.last_seen.0) >= PRODUCER_IDLE_MS
}

/// The producers of one stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProducerTable {
    stream: StreamId,
    rows: BTreeMap<ProducerId, ProducerRow>,
}

impl ProducerTable {
    /// A table of the rows that a stream has.
    #[must_use]
    pub fn new(stream: StreamId, rows: impl IntoIterator<Item = ProducerRow>) -> ProducerTable {
        ProducerTable { stream, rows: rows.into_iter().map(|row| (row.id.clone(), row)).collect() }
    }

    /// One producer.
    #[must_use]
    pub fn get(&self, id: &ProducerId) -> Option<&ProducerRow> {
        self.rows.get(id)
    }

    /// All producers, by id.
    pub fn rows(&self) -> impl Iterator<Item = &ProducerRow> {
        self.rows.values()
    }

    /// How many producers there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Judges a claim.
    #[must_use]
    pub fn check(&self, claim: &ProducerClaim) -> Verdict {
        check(self.rows.get(&claim.id), claim)
    }

    /// Records an accepted append, see [`advance`].
    pub fn advance(
        &mut self,
        claim: &ProducerClaim,
        first_offset: Offset,
        count: u32,
        at: Timestamp,
    ) -> &ProducerRow {
        let row = advance(self.rows.get(&claim.id), self.stream, claim, first_offset, count, at);
        match self.rows.entry(claim.id.clone()) {
            Entry::Occupied(mut slot) => {
                slot.insert(row);
                slot.into_mut()
            }
            Entry::Vacant(slot) => slot.insert(row),
        }
    }

    /// Forgets a producer; says whether there was one.
    pub fn forget(&mut self, id: &ProducerId) -> bool {
        self.rows.remove(id).is_some()
    }

    /// The producers that may be forgotten at `now`, of a stream that starts at `start`.
    #[must_use]
    pub fn forgettable(&self, start: Offset, now: Timestamp) -> Vec<ProducerId> {
        self.rows.values().filter(|row| may_forget(row, start, now)).map(|row| row.id.clone()).collect()
    }

    /// Whom `newcomer` would push out: the longest idle producer of a full table, the first by id among
    /// equals.
    #[must_use]
    pub fn pushed_out_by(&self, newcomer: &ProducerId) -> Option<ProducerId> {
        if self.rows.len() < MAX_PRODUCERS_PER_STREAM || self.rows.contains_key(newcomer) {
            return None;
        }
        self.rows.values().min_by_key(|row| row.last_seen).map(|row| row.id.clone())
    }
}
