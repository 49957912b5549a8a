//! Compaction: replaces references without changing what they hold. Guarantees that every offset stays held,
//! and that nothing is replaced that is not referenced any more (P13).

use std::collections::BTreeSet;

use kelda_format::command::{CompactObjects, CompactPart};
use kelda_format::rows::{ObjectRefRow, StreamRow};
use kelda_format::{ObjectId, StreamId};

use super::{commit, object, session, stream};
use crate::{Outcome, PartFault, Rejection, State};

pub(super) fn compact(state: &mut State, command: &CompactObjects) -> Result<Outcome, Rejection> {
    if object::committed_before(state, &command.objects) {
        return Ok(Outcome::AlreadyApplied);
    }
    session::live(state, command.session)?;
    let new_objects = object::reserved(state, command.session, &command.objects)?;
    let mut seen: BTreeSet<StreamId> = BTreeSet::new();
    for part in &command.parts {
        let row = stream::existing(state, part.stream)?;
        let fault = if seen.insert(part.stream) {
            check_part(state, row, part, &new_objects).err()
        } else {
            Some(PartFault::Twice)
        };
        if let Some(fault) = fault {
            return Err(Rejection::BadPart { stream: part.stream, fault });
        }
    }

    object::bring_in(state, &command.objects);
    for part in &command.parts {
        apply_part(state, part, command);
    }
    object::destroy_unreferenced(state, &command.objects, command.at);
    Ok(Outcome::Applied)
}

fn check_part(
    state: &State,
    row: &StreamRow,
    part: &CompactPart,
    new_objects: &BTreeSet<ObjectId>,
) -> Result<(), PartFault> {
    let inputs = check_inputs(state, part)?;
    let (Some(first_in), Some(last_in), Some(first_out)) = (inputs.first(), inputs.last(), part.refs.first())
    else {
        return Err(PartFault::NoRefs);
    };
    if part.source != row.id && inputs.iter().all(|input| input.source != part.source) {
        return Err(PartFault::ForeignSource { found: part.source });
    }
    // What lies below the start of the stream may be left out, nothing else.
    let starts =
        first_out.base == first_in.base || (first_out.base > first_in.base && first_out.base <= row.start);
    let (end, last) = commit::check_refs(&part.refs, first_out.base, first_in.first_timestamp, new_objects)?;
    if !starts || end != last_in.end {
        return Err(PartFault::NotReplaced { start: first_in.base, end: last_in.end });
    }
    if last > last_in.last_timestamp {
        return Err(PartFault::TimeBack { last, found: last_in.last_timestamp });
    }
    Ok(())
}

/// The rows of the inputs: still referenced (P13), and consecutive.
fn check_inputs(state: &State, part: &CompactPart) -> Result<Vec<ObjectRefRow>, PartFault> {
    let mut rows: Vec<ObjectRefRow> = Vec::with_capacity(part.inputs.len());
    for input in &part.inputs {
        let row = state
            .refs
            .get(&(part.stream, input.base))
            .filter(|row| row.object == input.object)
            .ok_or(PartFault::InputGone { base: input.base, object: input.object })?;
        if let Some(before) = rows.last().filter(|before| before.end != row.base) {
            return Err(PartFault::NotContiguous { expected: before.end, found: row.base });
        }
        rows.push(*row);
    }
    Ok(rows)
}

fn apply_part(state: &mut State, part: &CompactPart, command: &CompactObjects) {
    let mut freed = 0;
    for input in &part.inputs {
        freed += state.refs.get(&(part.stream, input.base)).map_or(0, |row| row.bytes);
        state.drop_ref(part.stream, input.base, command.at);
    }
    let start = state.stream(part.stream).map(|row| row.start).unwrap_or_default();
    let mut added = 0;
    // The stream may have been trimmed since the compaction began.
    for row in part.refs.iter().filter(|row| row.end > start) {
        added += row.bytes;
        state.add_ref(commit::reference(part.stream, part.source, row));
    }
    state.change_stream(part.stream, |row| row.bytes = row.bytes - freed + added);
}
