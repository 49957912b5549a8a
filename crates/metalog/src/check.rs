//! Reading a whole log to say whether it is sound: owns the order of what is looked at. Guarantees that every entry which
//! counts is decoded, and that those after the snapshot are applied as a start would apply them. Never writes, not even to
//! put a snapshot in quarantine.

use std::sync::Arc;

use bytes::Bytes;
use kelda_meta::{State, invariants};

use crate::config::READ_BATCH;
use crate::replica::{Replica, Stop, decode_entry};
use crate::store::{FIRST_INDEX, LogError, LogStore};

/// Problems that are kept: entries that do not decode are all of interest, but not without end.
const MAX_PROBLEMS: usize = 1000;

/// What a log holds.
#[derive(Clone, Debug, Default)]
pub struct LogCheck {
    /// The first entry that counts.
    pub first: u64,
    /// The last entry; 0 when there is none.
    pub last: u64,
    /// Bytes of the entries.
    pub entry_bytes: u64,
    /// The newest snapshot: the index of the last entry in it, and its bytes.
    pub snapshot: Option<(u64, u64)>,
    /// The state after the last entry; none when a start could not arrive at it.
    pub state: Option<Arc<State>>,
    /// What is wrong.
    pub problems: Vec<LogProblem>,
}

/// Something that is wrong with a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogProblem {
    /// Whether it is only that a newer version wrote it.
    pub newer: bool,
    /// What it is, and where.
    pub detail: String,
}

impl LogCheck {
    fn stopped(&mut self, stop: &Stop) {
        self.state = None;
        self.problem(matches!(stop, Stop::Newer { .. }), stop.to_string());
    }

    fn failed(&mut self, error: &LogError) {
        self.problem(matches!(error, LogError::Newer { .. }), error.to_string());
    }

    fn problem(&mut self, newer: bool, detail: String) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(LogProblem { newer, detail });
        }
    }
}

/// Reads all of `store`.
pub async fn check(store: &dyn LogStore) -> LogCheck {
    let mut found = LogCheck { first: FIRST_INDEX, ..LogCheck::default() };
    let mut replica = match store.latest_snapshot().await {
        Ok(None) => Ok(None),
        Ok(Some((index, bytes))) => {
            found.snapshot = Some((index, bytes.len() as u64));
            Replica::decode(None, index, &bytes).map(Some).map_err(|stop| match stop {
                // Nothing is moved aside here, so the words of a start would be wrong.
                Stop::Snapshot { index, detail } => {
                    Stop::Log(format!("the metadata snapshot at {index} does not decode: {detail}"))
                }
                stop => stop,
            })
        }
        Err(error) => {
            found.failed(&error);
            return found;
        }
    };
    if let Err(stop) = &replica {
        found.stopped(stop);
    }
    if let Err(LogError::Truncated { bound, .. }) = store.read(FIRST_INDEX, 1).await {
        found.first = bound;
    }
    let mut from = found.first;
    loop {
        let entries = match store.read(from, READ_BATCH).await {
            Ok(entries) => entries,
            Err(error) => {
                found.failed(&error);
                return found;
            }
        };
        let Some((last, _)) = entries.last() else { break };
        (found.last, from) = (*last, last + 1);
        for (index, bytes) in &entries {
            found.entry_bytes += bytes.len() as u64;
            if let Err(stop) = take(&mut replica, *index, bytes) {
                found.stopped(&stop);
            }
        }
    }
    if let Ok(Some(replica)) = replica {
        let state = Arc::clone(replica.state());
        if let Err(broken) = invariants::check(&state) {
            found.problem(false, format!("the metadata contradicts itself: {broken}"));
        }
        found.state = Some(state);
    }
    found
}

/// Applies an entry, or only decodes it where the snapshot has it already or an entry before it is of no use.
fn take(replica: &mut Result<Option<Replica>, Stop>, index: u64, bytes: &Bytes) -> Result<(), Stop> {
    let entry = decode_entry(index, bytes);
    let taken = match (&mut *replica, entry) {
        (Err(_), entry) => return entry.map(drop),
        (Ok(Some(known)), entry) if index <= known.applied() => return entry.map(drop),
        (Ok(Some(known)), Ok(_)) => known.apply(index, bytes).map(drop),
        (Ok(none), Ok(entry)) => none.insert(Replica::empty(entry.cluster)).apply(index, bytes).map(drop),
        (Ok(_), Err(stop)) => Err(stop),
    };
    if let Err(stop) = &taken {
        *replica = Err(stop.clone());
    }
    taken
}
