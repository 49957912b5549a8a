//! What is true of objects, references, reservations and the destroy queue.

use std::collections::BTreeMap;

use kelda_format::ObjectId;
use kelda_format::rows::StreamRow;

use crate::{SessionStatus, State};

pub(super) fn check(state: &State) -> Result<(), String> {
    let mut counts: BTreeMap<ObjectId, u32> = BTreeMap::new();
    for ((stream, base), row) in &state.refs {
        ensure!(
            (*stream, *base) == (row.stream, row.base),
            "a reference of {stream} is stored at {base}: {row:?}"
        );
        ensure!(state.stream(*stream).is_some(), "a reference of stream {stream}, which is not there");
        ensure!(
            row.source <= *stream && row.source.0 >= 1,
            "a reference of stream {stream} to {}",
            row.source
        );
        *counts.entry(row.object).or_default() += 1;
    }
    for row in state.streams() {
        check_range(state, row)?;
    }
    for (id, row) in &state.objects {
        ensure!(*id == row.id, "object {} is stored under {id}", row.id);
        let counted = counts.remove(id).unwrap_or(0);
        ensure!(row.refs == counted, "object {id} says {} references, has {counted} (P14)", row.refs);
        ensure!(counted > 0, "object {id} has no references and is not in the destroy queue");
    }
    ensure!(counts.is_empty(), "references to objects that are not there: {counts:?}");
    check_apart(state)
}

/// The references of a stream cover what is held, and no more than one straddles the start.
fn check_range(state: &State, row: &StreamRow) -> Result<(), String> {
    let id = row.id;
    let mut at = None;
    let (mut bytes, mut last) = (0, None);
    for reference in state.refs(id) {
        ensure!(reference.base < reference.end, "an empty reference of stream {id}: {reference:?}");
        match at {
            None => ensure!(
                reference.base <= row.start,
                "stream {id} starts at {}, held is {reference:?}",
                row.start
            ),
            Some(at) => {
                ensure!(reference.base == at, "references of stream {id} leave off at {at}: {reference:?}")
            }
        }
        ensure!(reference.end > row.start, "stream {id} starts at {}, still has {reference:?}", row.start);
        let (first_time, last_time) = (reference.first_timestamp, reference.last_timestamp);
        ensure!(
            last <= Some(first_time) && first_time <= last_time,
            "times of stream {id} go back: {reference:?}"
        );
        at = Some(reference.end);
        last = Some(last_time);
        bytes += reference.bytes;
    }
    let end = at.unwrap_or(row.start);
    ensure!(end == row.end, "references of stream {id} end at {end}, the stream at {} (P10)", row.end);
    ensure!(last <= Some(row.last_timestamp), "stream {id} has records after its last time (P18)");
    ensure!(bytes == row.bytes, "stream {id} says {} bytes, has {bytes}", row.bytes);
    Ok(())
}

/// An object is in one place only: in use, reserved or to be destroyed.
fn check_apart(state: &State) -> Result<(), String> {
    let next = state.numbers().next_object;
    for (id, row) in &state.reservations {
        ensure!(*id == row.object, "reservation {} is stored under {id}", row.object);
        ensure!(!state.objects.contains_key(id), "object {id} is reserved and in use (P13)");
        let known = state.session_status(row.session) != SessionStatus::Unknown;
        ensure!(known, "object {id} is reserved by session {}, which never was", row.session);
    }
    for (id, row) in &state.destroy {
        ensure!(*id == row.object, "object {} is queued under {id}", row.object);
        ensure!(!state.objects.contains_key(id), "object {id} is to be destroyed and in use (P13)");
        ensure!(!state.reservations.contains_key(id), "object {id} is to be destroyed and reserved (P13)");
    }
    let ids = state.objects.keys().chain(state.reservations.keys()).chain(state.destroy.keys());
    for id in ids {
        ensure!(id.0 >= 1 && id.0 < next, "object {id} is of the future, the next is {next}");
    }
    Ok(())
}
