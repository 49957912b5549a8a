//! The end of streams: delete, expiry and removal of an entry. Guarantees that a held stream is ended only by
//! its owner (P5), that references are dropped and never bytes (P14), and that a name whose stream still has
//! forks stays taken until the last of them is gone.

use kelda_format::command::{DeleteEntry, DeleteStream, ExpireStream};
use kelda_format::rows::{EntryRow, EntryState};
use kelda_format::{StreamId, StreamName, Timestamp};

use super::stream;
use crate::{Outcome, Rejection, State};

pub(super) fn delete(state: &mut State, command: &DeleteStream) -> Result<Outcome, Rejection> {
    if state.is_gone(command.stream) {
        return Ok(Outcome::AlreadyApplied);
    }
    let row = stream::existing(state, command.stream)?;
    if row.name != command.name {
        return Err(other_stream(state, &command.name, command.stream));
    }
    stream::may_end(state, row, command.session, command.epoch)?;
    remove_now(state, command.stream, command.at);
    Ok(Outcome::Applied)
}

/// P5: the owner of a held stream knows its deadline, which is never before the persisted one.
pub(super) fn expire(state: &mut State, command: &ExpireStream) -> Result<Outcome, Rejection> {
    if state.is_gone(command.stream) {
        return Ok(Outcome::AlreadyApplied);
    }
    let row = stream::existing(state, command.stream)?;
    if row.deadline.is_none_or(|deadline| deadline > command.at) {
        return Err(Rejection::NotExpired { stream: row.id, deadline: row.deadline, at: command.at });
    }
    stream::may_end(state, row, command.session, command.epoch)?;
    remove_now(state, command.stream, command.at);
    Ok(Outcome::Applied)
}

pub(super) fn delete_entry(state: &mut State, command: &DeleteEntry) -> Result<Outcome, Rejection> {
    if state.is_gone(command.stream) {
        return Ok(Outcome::AlreadyApplied);
    }
    let entry = in_use(state, &command.name, command.stream)?;
    if entry.version != command.expected_version {
        return Err(Rejection::Version {
            expected: Some(command.expected_version),
            current: Some(entry.version),
        });
    }
    let row = stream::existing(state, command.stream)?;
    stream::may_end(state, row, None, None)?;
    remove_now(state, command.stream, command.at);
    Ok(Outcome::Applied)
}

/// The entry of a name that stands for `stream` and is not soft-deleted.
pub(super) fn in_use<'a>(
    state: &'a State,
    name: &StreamName,
    stream: StreamId,
) -> Result<&'a EntryRow, Rejection> {
    match state.entry(name) {
        Some(entry) if entry.stream == stream && entry.state == EntryState::SoftDeleted => {
            Err(Rejection::SoftDeleted { name: name.clone(), stream })
        }
        Some(entry) if entry.stream == stream => Ok(entry),
        _ => Err(other_stream(state, name, stream)),
    }
}

fn other_stream(state: &State, name: &StreamName, expected: StreamId) -> Rejection {
    match state.entry(name) {
        Some(entry) => Rejection::OtherStream { name: name.clone(), expected, stream: entry.stream },
        None => Rejection::NoSuchName { name: name.clone() },
    }
}

/// Removes a stream with everything that belongs to it.
fn remove_now(state: &mut State, stream: StreamId, at: Timestamp) {
    let entry = state.entry_of(stream).cloned();
    state.transfers.remove(&stream);
    state.drop_refs(stream, at);
    state.remove_producers(stream);
    state.remove_stream_row(stream);
    let Some(entry) = entry else { return };
    if state.fork_count(stream) > 0 {
        let version = state.take_version();
        state.put_entry(EntryRow { state: EntryState::SoftDeleted, version, ..entry });
    } else {
        remove_entry_and_parents(state, entry);
    }
}

/// Removes an entry, and then every soft-deleted ancestor of which it was the last fork.
fn remove_entry_and_parents(state: &mut State, entry: EntryRow) {
    state.remove_entry(&entry.name);
    let mut parent = entry.parent;
    while let Some(point) = parent {
        if state.fork_count(point.stream) > 0 {
            return;
        }
        let Some(name) = state.derived.soft_deleted.get(&point.stream).cloned() else { return };
        parent = state.entry(&name).and_then(|entry| entry.parent);
        state.remove_entry(&name);
    }
}
