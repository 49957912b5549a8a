//! Internal streams: open, close and trim. Owns the rule who holds a stream, and guarantees that it changes
//! hands only when everything acknowledged is committed (P1).

use kelda_format::command::{CloseStream, OpenStream, TrimStream};
use kelda_format::rows::{Expiry, StreamRow};
use kelda_format::{Epoch, Offset, SessionId, StreamId, Timestamp};

use super::session;
use crate::{Outcome, Rejection, State};

/// A stream that is not deleted.
pub(super) fn existing(state: &State, stream: StreamId) -> Result<&StreamRow, Rejection> {
    match state.stream(stream) {
        Some(row) => Ok(row),
        None if state.is_gone(stream) => Err(Rejection::StreamGone { stream }),
        None => Err(Rejection::NoSuchStream { stream, next: state.numbers.next_stream }),
    }
}

/// Rejects when the stream is at another epoch.
pub(super) fn at_epoch(row: &StreamRow, expected: Option<Epoch>) -> Result<(), Rejection> {
    if row.epoch == expected {
        return Ok(());
    }
    Err(Rejection::WrongEpoch { stream: row.id, expected, epoch: row.epoch })
}

/// Rejects unless `session` holds the stream at `epoch`.
pub(super) fn held_at(row: &StreamRow, session: SessionId, epoch: Epoch) -> Result<(), Rejection> {
    at_epoch(row, Some(epoch))?;
    if row.owner == Some(session) {
        return Ok(());
    }
    Err(Rejection::NotOwner { stream: row.id, session, owner: row.owner })
}

/// Rejects when the committed tail is another (P7).
pub(super) fn ends_at(row: &StreamRow, expected: Offset) -> Result<(), Rejection> {
    if row.end == expected {
        return Ok(());
    }
    Err(Rejection::WrongEnd { stream: row.id, expected, end: row.end })
}

/// Rejects what ends a held stream unless its owner, alive, proposes it (P5). A stream that nobody holds may
/// be ended by anybody who knows its epoch, or does not care.
pub(super) fn may_end(
    state: &State,
    row: &StreamRow,
    session: Option<SessionId>,
    epoch: Option<Epoch>,
) -> Result<(), Rejection> {
    if let Some(session) = session {
        session::live(state, session)?;
    }
    if epoch.is_some() {
        at_epoch(row, epoch)?;
    }
    match (row.owner, session) {
        (None, _) => Ok(()),
        (Some(by), Some(session)) if by == session && epoch.is_some() => Ok(()),
        (Some(by), _) => Err(Rejection::Held { stream: row.id, by }),
    }
}

/// The deadline to store when the owner reports a sliding one: never an earlier one than stored (P5). What is
/// reported for a stream whose expiry is not sliding (any more) is ignored.
pub(super) fn persisted_deadline(
    state: &State,
    row: &StreamRow,
    reported: Option<Timestamp>,
) -> Option<Timestamp> {
    match state.entry_of(row.id).map(|entry| &entry.expiry) {
        Some(Expiry::Sliding { .. }) => row.deadline.max(reported),
        _ => row.deadline,
    }
}

/// P1: accepted only for a stream that no session holds; the epoch goes up by one.
pub(super) fn open(state: &mut State, command: &OpenStream) -> Result<Outcome, Rejection> {
    let row = existing(state, command.stream)?;
    session::live(state, command.session)?;
    match row.owner {
        Some(by) if by == command.session => Ok(Outcome::AlreadyApplied),
        Some(by) => Err(Rejection::Held { stream: row.id, by }),
        None => Ok(open_now(state, command.stream, command.session)),
    }
}

/// Gives a stream that nobody holds to a session.
pub(super) fn open_now(state: &mut State, stream: StreamId, session: SessionId) -> Outcome {
    let mut epoch = Epoch(0);
    state.change_stream(stream, |row| {
        epoch = row.epoch.map_or(Epoch(0), |epoch| Epoch(epoch.0 + 1));
        row.epoch = Some(epoch);
        row.owner = Some(session);
    });
    Outcome::Opened { session, epoch }
}

/// One of the three ways to release a stream (P1): its owner has committed everything.
pub(super) fn close(state: &mut State, command: &CloseStream) -> Result<Outcome, Rejection> {
    let row = existing(state, command.stream)?;
    if row.owner.is_none() && row.epoch == Some(command.epoch) && row.end == command.end {
        return Ok(Outcome::AlreadyApplied);
    }
    session::live(state, command.session)?;
    held_at(row, command.session, command.epoch)?;
    ends_at(row, command.end)?;
    let deadline = persisted_deadline(state, row, command.deadline);
    release(state, command.stream, deadline);
    Ok(Outcome::Applied)
}

/// Makes a stream free to be opened; a pending transfer of it is over.
pub(super) fn release(state: &mut State, stream: StreamId, deadline: Option<Timestamp>) {
    state.transfers.remove(&stream);
    state.change_stream(stream, |row| {
        row.owner = None;
        row.deadline = deadline;
    });
}

/// Up to the committed tail only: what lies beyond has to be committed by the owner first (P5), so that the
/// producer table stays that of the committed tail (P15).
pub(super) fn trim(state: &mut State, command: &TrimStream) -> Result<Outcome, Rejection> {
    let row = existing(state, command.stream)?;
    if let Some(session) = command.session {
        session::live(state, session)?;
        if let Some(by) = row.owner.filter(|by| *by != session) {
            return Err(Rejection::Held { stream: row.id, by });
        }
    }
    if command.epoch.is_some() {
        at_epoch(row, command.epoch)?;
    }
    if command.before <= row.start {
        return Ok(Outcome::AlreadyApplied);
    }
    if command.before > row.end {
        return Err(Rejection::OutOfRange {
            stream: row.id,
            offset: command.before,
            start: row.start,
            end: row.end,
        });
    }
    let below: Vec<(Offset, u64)> = state
        .refs(command.stream)
        .take_while(|row| row.end <= command.before)
        .map(|row| (row.base, row.bytes))
        .collect();
    let mut freed = 0;
    for (base, bytes) in below {
        state.drop_ref(command.stream, base, command.at);
        freed += bytes;
    }
    state.change_stream(command.stream, |row| {
        row.start = command.before;
        row.bytes -= freed;
    });
    Ok(Outcome::Applied)
}
