//! Objects before and after their use: reservation, expiry of reservations and the destroy queue. Guarantees
//! that ids are never reused and that bytes are deleted only from the queue (P13).

use std::collections::BTreeSet;

use kelda_format::command::{CleanObjects, ExpireReservations, NewObject, ReserveObjects};
use kelda_format::rows::{DestroyReason, ObjectRow, ReservationRow};
use kelda_format::{ObjectId, SessionId, Timestamp};

use super::limit::{self, MAX_OBJECT_BYTES, MAX_OBJECTS, MAX_RESERVED};
use super::session;
use crate::{Limited, Outcome, Rejection, SessionStatus, State};

pub(super) fn reserve(state: &mut State, command: &ReserveObjects) -> Result<Outcome, Rejection> {
    session::live(state, command.session)?;
    limit::within(Limited::ReservedObjects, command.count.into(), 1, MAX_RESERVED)?;
    let first = state.numbers.next_object;
    state.numbers.next_object += u64::from(command.count);
    for object in first..state.numbers.next_object {
        state.put_reservation(ReservationRow {
            object: ObjectId(object),
            session: command.session,
            at: command.at,
        });
    }
    Ok(Outcome::Reserved { first: ObjectId(first), count: command.count })
}

/// Rejects new objects that are too many, listed twice or not reserved by `session` (P13). Returns their ids.
pub(super) fn reserved(
    state: &State,
    session: SessionId,
    objects: &[NewObject],
) -> Result<BTreeSet<ObjectId>, Rejection> {
    limit::within(Limited::Objects, objects.len() as u64, 0, MAX_OBJECTS)?;
    let mut ids = BTreeSet::new();
    for object in objects {
        limit::within(Limited::ObjectBytes, object.bytes, 0, MAX_OBJECT_BYTES)?;
        let object = object.id;
        if !ids.insert(object) {
            return Err(Rejection::ObjectTwice { object });
        }
        if state.reservations.get(&object).is_none_or(|row| row.session != session) {
            return Err(Rejection::NotReserved { object, session });
        }
    }
    Ok(ids)
}

/// Whether the command that brings in these objects was applied before: an id is committed only once.
pub(super) fn committed_before(state: &State, objects: &[NewObject]) -> bool {
    let committed = |id: &ObjectId| {
        state.objects.contains_key(id)
            || state.destroy.get(id).is_some_and(|row| row.reason == DestroyReason::Unreferenced)
    };
    !objects.is_empty() && objects.iter().all(|object| committed(&object.id))
}

/// Turns reservations into objects to which nothing refers yet.
pub(super) fn bring_in(state: &mut State, objects: &[NewObject]) {
    for object in objects {
        state.reservations.remove(&object.id);
        state.put_object(ObjectRow { id: object.id, kind: object.kind, bytes: object.bytes, refs: 0 });
    }
}

/// Queues for destruction what was brought in and is not referred to after all.
pub(super) fn destroy_unreferenced(state: &mut State, objects: &[NewObject], at: Timestamp) {
    for object in objects {
        if state.object(object.id).is_some_and(|row| row.refs == 0) {
            state.objects.remove(&object.id);
            state.queue_destroy(object.id, at, DestroyReason::Unreferenced);
        }
    }
}

pub(super) fn clean(state: &mut State, command: &CleanObjects) -> Result<Outcome, Rejection> {
    session::live(state, command.session)?;
    limit::within(Limited::Objects, command.objects.len() as u64, 0, MAX_OBJECTS)?;
    for object in &command.objects {
        if state.objects.contains_key(object) || state.reservations.contains_key(object) {
            return Err(Rejection::ObjectInUse { object: *object });
        }
        if object.0 == 0 || object.0 >= state.numbers.next_object {
            return Err(Rejection::NoSuchObject { object: *object, next: state.numbers.next_object });
        }
    }
    let before = state.destroy.len();
    for object in &command.objects {
        state.destroy.remove(object);
    }
    Ok(if state.destroy.len() == before { Outcome::AlreadyApplied } else { Outcome::Applied })
}

pub(super) fn expire_reservations(
    state: &mut State,
    command: &ExpireReservations,
) -> Result<Outcome, Rejection> {
    if let Some(session) = command.owner
        && state.session_status(session) == SessionStatus::Unknown
    {
        let latest = state.node(session.node).map(|row| row.session_epoch);
        return Err(Rejection::NoSuchSession { session, latest });
    }
    if command.before > command.at {
        return Err(Rejection::LimitInFuture { before: command.before, at: command.at });
    }
    let expired: Vec<ObjectId> = state
        .reservations()
        .filter(|row| command.owner.is_none_or(|owner| owner == row.session) && row.at < command.before)
        .map(|row| row.object)
        .collect();
    for object in &expired {
        state.reservations.remove(object);
        state.queue_destroy(*object, command.at, DestroyReason::Expired);
    }
    Ok(if expired.is_empty() { Outcome::AlreadyApplied } else { Outcome::Applied })
}
