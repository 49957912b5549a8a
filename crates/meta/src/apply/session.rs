//! Sessions: fencing, clean close and the end of a recovery. Owns the rule who may still propose.

use kelda_format::command::{CloseSession, CompleteRecovery, FenceSession};
use kelda_format::rows::{Expiry, SessionRow, SessionState, WalKind};
use kelda_format::{NodeId, SessionId, StreamId};

use super::transfer;
use crate::{Outcome, Rejection, State};

/// A session that may propose (P2): it is registered and has not ended.
pub(super) fn live(state: &State, session: SessionId) -> Result<&SessionRow, Rejection> {
    let row = known(state, session)?;
    match row.state {
        SessionState::Live => Ok(row),
        ended => Err(Rejection::SessionEnded { session, state: ended }),
    }
}

/// A session that has a row.
pub(super) fn known(state: &State, session: SessionId) -> Result<&SessionRow, Rejection> {
    state.session(session).ok_or_else(|| Rejection::NoSuchSession {
        session,
        latest: state.node(session.node).map(|row| row.session_epoch),
    })
}

/// A fenced session whose WAL `by` may recover (P12).
pub(super) fn recoverable(
    state: &State,
    session: SessionId,
    by: SessionId,
) -> Result<&SessionRow, Rejection> {
    let row = known(state, session)?;
    if row.state != SessionState::Fenced {
        return Err(Rejection::SessionNotFenced { session, state: row.state });
    }
    if row.wal == WalKind::Local && by.node != session.node {
        return Err(Rejection::LocalWal { session, by });
    }
    Ok(row)
}

/// P7: the WAL start is what the proposer took it for.
pub(super) fn wal_start(row: &SessionRow, expected: u64) -> Result<(), Rejection> {
    if row.wal_start == expected {
        return Ok(());
    }
    Err(Rejection::WalStart { session: row.id, expected, actual: row.wal_start })
}

pub(super) fn fence(state: &mut State, command: &FenceSession) -> Result<Outcome, Rejection> {
    let row = known(state, command.session)?;
    match row.state {
        SessionState::Fenced | SessionState::Recovered => return Ok(Outcome::AlreadyApplied),
        SessionState::Closed => {
            return Err(Rejection::SessionEnded { session: row.id, state: SessionState::Closed });
        }
        SessionState::Live => {}
    }
    live(state, command.by)?;
    fence_now(state, command.session);
    Ok(Outcome::Applied)
}

/// Fences a live session and aborts the transfers it takes part in (P4). Its streams stay held until its
/// recovery is complete (P1).
pub(super) fn fence_now(state: &mut State, session: SessionId) {
    set_state(state, session, SessionState::Fenced);
    transfer::abort_all_of(state, session);
}

fn set_state(state: &mut State, session: SessionId, to: SessionState) {
    if let Some(row) = state.session(session) {
        let row = SessionRow { state: to, ..row.clone() };
        state.put_session(row);
    }
}

/// P9: a clean close needs everything committed; what the session still holds is not.
pub(super) fn close(state: &mut State, command: &CloseSession) -> Result<Outcome, Rejection> {
    let row = known(state, command.session)?;
    if row.state == SessionState::Closed && row.wal_start == command.wal_start {
        return Ok(Outcome::AlreadyApplied);
    }
    let row = live(state, command.session)?;
    wal_start(row, command.wal_start)?;
    let streams = state.held_count(command.session);
    if streams > 0 {
        return Err(Rejection::SessionHolds { session: command.session, streams });
    }
    set_state(state, command.session, SessionState::Closed);
    transfer::abort_all_of(state, command.session);
    Ok(Outcome::Applied)
}

/// One of the three ways to release a stream (P1): the WAL of its owner is committed to its end.
pub(super) fn complete_recovery(state: &mut State, command: &CompleteRecovery) -> Result<Outcome, Rejection> {
    if known(state, command.session)?.state == SessionState::Recovered {
        return Ok(Outcome::AlreadyApplied);
    }
    live(state, command.by)?;
    let row = recoverable(state, command.session, command.by)?;
    wal_start(row, command.wal_start)?;
    let held: Vec<StreamId> = state.held_by(command.session).collect();
    for stream in held {
        // P5: nobody knows how far the deadline had slid, so it runs anew from the recovery.
        let sliding = match state.entry_of(stream).map(|entry| &entry.expiry) {
            Some(Expiry::Sliding { ttl_ms }) => Some(command.at.plus_ms(*ttl_ms)),
            _ => None,
        };
        state.change_stream(stream, |row| {
            row.owner = None;
            row.deadline = row.deadline.max(sliding);
        });
    }
    set_state(state, command.session, SessionState::Recovered);
    Ok(Outcome::Applied)
}

/// Drops the rows of a node's ended sessions but the latest, so that they do not grow with restarts.
pub(super) fn forget_ended(state: &mut State, node: NodeId) {
    let latest = state.node(node).map(|row| row.session_epoch);
    let ended: Vec<SessionId> = state
        .sessions()
        .filter(|row| row.id.node == node && Some(row.id.epoch) != latest)
        .filter(|row| matches!(row.state, SessionState::Closed | SessionState::Recovered))
        .map(|row| row.id)
        .collect();
    for session in ended {
        state.sessions.remove(&session);
    }
}
