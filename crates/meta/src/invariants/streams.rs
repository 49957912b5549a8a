//! What is true of streams, entries and producers.

use std::collections::BTreeMap;

use kelda_format::StreamId;
use kelda_format::limits::MAX_PRODUCERS_PER_STREAM;
use kelda_format::rows::{EntryRow, EntryState, Expiry, SessionState, StreamRow};

use crate::State;
use crate::state::Derived;

pub(super) fn check(state: &State) -> Result<(), String> {
    for (id, row) in &state.streams {
        ensure!(*id == row.id, "stream {} is stored under {id}", row.id);
        check_stream(state, row)?;
    }
    for (name, row) in &state.entries {
        ensure!(*name == row.name, "entry {} is stored under {name}", row.name);
        check_entry(state, row)?;
    }
    check_producers(state)?;
    check_derived(state)
}

fn check_stream(state: &State, row: &StreamRow) -> Result<(), String> {
    let id = row.id;
    ensure!(id.0 >= 1 && id.0 < state.numbers().next_stream, "stream {id} is of the future");
    ensure!(row.start <= row.end, "stream {id} starts at {} after its end {}", row.start, row.end);
    let Some(entry) = state.entry(&row.name) else { return Err(format!("stream {id} has no entry")) };
    ensure!(entry.stream == id, "stream {id} lives under {}, which stands for {}", row.name, entry.stream);
    ensure!(entry.kind == row.kind, "stream {id} and its entry are of different kinds");
    ensure!(entry.state != EntryState::SoftDeleted, "stream {id} is there and its entry soft-deleted");
    let expires = entry.expiry != Expiry::Never;
    ensure!(
        expires == row.deadline.is_some(),
        "stream {id} expires {:?} with {:?}",
        entry.expiry,
        row.deadline
    );
    if let Some(owner) = row.owner {
        let held = state
            .session(owner)
            .is_some_and(|session| matches!(session.state, SessionState::Live | SessionState::Fenced));
        ensure!(held, "stream {id} is held by session {owner}, which is neither live nor fenced (P1)");
        ensure!(row.epoch.is_some(), "stream {id} is held without an epoch");
    }
    Ok(())
}

fn check_entry(state: &State, row: &EntryRow) -> Result<(), String> {
    let (name, stream) = (&row.name, row.stream);
    ensure!(row.version < state.numbers().next_version, "entry {name} has a version of the future");
    if row.state == EntryState::SoftDeleted {
        ensure!(state.is_gone(stream), "entry {name} is soft-deleted and its stream {stream} is there");
        ensure!(state.fork_count(stream) > 0, "entry {name} is soft-deleted and has no forks");
    } else {
        let back = state.stream(stream).map(|row| &row.name);
        ensure!(back == Some(name), "entry {name} stands for stream {stream}, which lives under {back:?}");
    }
    if let Some(parent) = row.parent {
        let found = state.entry_of(parent.stream);
        ensure!(found.is_some(), "entry {name} forks stream {}, which has no entry", parent.stream);
        ensure!(parent.stream < stream, "entry {name} forks a stream younger than itself");
    }
    Ok(())
}

fn check_producers(state: &State) -> Result<(), String> {
    let mut counts: BTreeMap<StreamId, u32> = BTreeMap::new();
    for ((stream, id), row) in &state.producers {
        ensure!((*stream, id) == (row.stream, &row.id), "producer {} is stored under {id}", row.id);
        let Some(owner) = state.stream(*stream) else {
            return Err(format!("producer {id} is of stream {stream}, which is not there"));
        };
        ensure!(row.next_offset <= owner.end, "producer {id} of stream {stream} is beyond its end (P15)");
        ensure!(
            crate::apply::producer_well_formed(row, owner.end),
            "producer {id} of stream {stream} is malformed: {row:?}"
        );
        *counts.entry(*stream).or_default() += 1;
    }
    for row in state.streams() {
        let counted = counts.get(&row.id).copied().unwrap_or(0);
        ensure!(
            row.producers == counted,
            "stream {} says {} producers, has {counted}",
            row.id,
            row.producers
        );
        ensure!(counted as usize <= MAX_PRODUCERS_PER_STREAM, "stream {} has {counted} producers", row.id);
    }
    Ok(())
}

/// What is derived follows from the rows.
fn check_derived(state: &State) -> Result<(), String> {
    let mut derived = Derived::default();
    for row in state.streams() {
        if let Some(owner) = row.owner {
            derived.held.insert((owner, row.id));
            *derived.held_count.entry(owner).or_insert(0) += 1;
        }
        if let Some(deadline) = row.deadline {
            derived.deadlines.insert((deadline, row.id));
        }
    }
    for row in state.entries.values() {
        if let Some(parent) = row.parent {
            *derived.forks.entry(parent.stream).or_insert(0) += 1;
        }
        if row.state == EntryState::SoftDeleted {
            derived.soft_deleted.insert(row.stream, row.name.clone());
        } else if row.retention.is_bound() {
            derived.bounded.insert(row.stream);
        }
    }
    for row in state.refs.values() {
        *derived.live.entry(row.object).or_insert(0) += row.bytes;
    }
    ensure!(derived == state.derived, "derived {:?}, but the rows say {derived:?}", state.derived);
    Ok(())
}
