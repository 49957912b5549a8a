//! Placement: opens a stream where the load is lowest. Guarantees the same choice on every replica.

use kelda_format::SessionId;
use kelda_format::command::PlaceStream;

use super::stream;
use crate::{Outcome, Rejection, State};

pub(super) fn place(state: &mut State, command: &PlaceStream) -> Result<Outcome, Rejection> {
    let row = stream::existing(state, command.stream)?;
    if row.epoch > command.expected_epoch {
        return Ok(Outcome::AlreadyApplied);
    }
    stream::at_epoch(row, command.expected_epoch)?;
    if let Some(by) = row.owner {
        return Err(Rejection::Held { stream: row.id, by });
    }
    let session = lightest(state).ok_or(Rejection::NoPlacement)?;
    Ok(stream::open_now(state, command.stream, session))
}

/// The live session of the node with the lowest streams per slot; the lowest node id among equals.
fn lightest(state: &State) -> Option<SessionId> {
    let mut best: Option<(u128, u128, SessionId)> = None;
    for node in state.nodes().filter(|row| !row.draining) {
        let Some(session) = state.live_session(node.node) else { continue };
        let (streams, slots) = (u128::from(state.held_count(session.id)), u128::from(node.slots));
        // streams / slots < best streams / best slots, without the division.
        if best.is_none_or(|(best_streams, best_slots, _)| streams * best_slots < best_streams * slots) {
            best = Some((streams, slots, session.id));
        }
    }
    best.map(|(_, _, session)| session)
}
