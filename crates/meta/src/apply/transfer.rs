//! Transfers of ownership (P4). Guarantees that a stream has at most one, that a completed one was drained to
//! exactly the committed tail, and that the end of a session is the end of its transfers.

use kelda_format::command::{AbortTransfer, CompleteTransfer, StartTransfer};
use kelda_format::rows::TransferRow;
use kelda_format::{SessionId, StreamId, TransferId};

use super::{session, stream};
use crate::{Outcome, Rejection, State};

pub(super) fn start(state: &mut State, command: &StartTransfer) -> Result<Outcome, Rejection> {
    let row = stream::existing(state, command.stream)?;
    let id = row.id;
    let pending = state.transfer(id);
    if pending.is_some_and(|row| row.target == command.target && row.epoch == command.expected_epoch) {
        return Ok(Outcome::AlreadyApplied);
    }
    session::live(state, command.target)?;
    stream::at_epoch(row, Some(command.expected_epoch))?;
    let Some(source) = row.owner else {
        return Err(Rejection::NotOwner { stream: id, session: command.target, owner: None });
    };
    session::live(state, source)?;
    if let Some(row) = pending {
        return Err(Rejection::TransferPending { stream: id, transfer: row.id });
    }
    let draining = state.node(command.target.node).is_some_and(|node| node.draining);
    if source == command.target || draining {
        return Err(Rejection::BadTarget { stream: id, target: command.target });
    }
    let transfer = TransferId(state.numbers.next_transfer);
    state.numbers.next_transfer += 1;
    state.put_transfer(TransferRow {
        id: transfer,
        stream: id,
        source,
        target: command.target,
        epoch: command.expected_epoch,
        started: command.at,
    });
    Ok(Outcome::TransferStarted { transfer })
}

/// One of the three ways to release a stream (P1): id, epoch and committed tail all have to match (P4).
pub(super) fn complete(state: &mut State, command: &CompleteTransfer) -> Result<Outcome, Rejection> {
    let row = stream::existing(state, command.stream)?;
    let released = row.owner.is_none() && row.epoch == Some(command.epoch) && row.end == command.end;
    let pending = pending(state, command.transfer, command.stream)?;
    if pending.is_none() && released {
        return Ok(Outcome::AlreadyApplied);
    }
    session::live(state, command.session)?;
    if pending.is_none() {
        return Err(Rejection::TransferGone { transfer: command.transfer, stream: command.stream });
    }
    stream::held_at(row, command.session, command.epoch)?;
    stream::ends_at(row, command.end)?;
    let deadline = stream::persisted_deadline(state, row, command.deadline);
    stream::release(state, command.stream, deadline);
    Ok(Outcome::Applied)
}

pub(super) fn abort(state: &mut State, command: &AbortTransfer) -> Result<Outcome, Rejection> {
    match pending(state, command.transfer, command.stream)? {
        Some(_) => {
            state.transfers.remove(&command.stream);
            Ok(Outcome::Applied)
        }
        None => Ok(Outcome::AlreadyApplied),
    }
}

/// The pending transfer of this id; `None` when it has ended.
fn pending(state: &State, transfer: TransferId, stream: StreamId) -> Result<Option<&TransferRow>, Rejection> {
    if transfer.0 == 0 || transfer.0 >= state.numbers.next_transfer {
        return Err(Rejection::NoSuchTransfer { transfer });
    }
    Ok(state.transfer(stream).filter(|row| row.id == transfer))
}

/// P4: the end of a session aborts every transfer that it is source or target of.
pub(super) fn abort_all_of(state: &mut State, session: SessionId) {
    let streams: Vec<StreamId> = state
        .transfers()
        .filter(|row| row.source == session || row.target == session)
        .map(|row| row.stream)
        .collect();
    for stream in streams {
        state.transfers.remove(&stream);
    }
}
