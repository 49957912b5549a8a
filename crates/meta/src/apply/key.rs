//! The key space: values that front ends and operators store. Guarantees that a change is based on the version
//! that is there (P21).

use kelda_format::command::{DeleteKey, PutKey};
use kelda_format::rows::KeyRow;

use super::limit::{self, MAX_KEY_BYTES, MAX_VALUE_BYTES};
use crate::{Limited, Outcome, Rejection, State};

pub(super) fn put(state: &mut State, command: &PutKey) -> Result<Outcome, Rejection> {
    limit::within(Limited::KeyBytes, command.key.len() as u64, 1, MAX_KEY_BYTES)?;
    limit::bytes(Limited::ValueBytes, command.value.len(), MAX_VALUE_BYTES)?;
    let current = state.key(command.space, &command.key);
    let version = current.map(|row| row.version);
    if version != command.expected_version {
        if current.is_some_and(|row| row.value == command.value) {
            return Ok(Outcome::AlreadyApplied);
        }
        return Err(Rejection::Version { expected: command.expected_version, current: version });
    }
    let version = state.take_version();
    state.put_key_row(KeyRow {
        space: command.space,
        key: command.key.clone(),
        value: command.value.clone(),
        version,
    });
    Ok(Outcome::Stored { version })
}

pub(super) fn delete(state: &mut State, command: &DeleteKey) -> Result<Outcome, Rejection> {
    match state.key(command.space, &command.key).map(|row| row.version) {
        None => Ok(Outcome::AlreadyApplied),
        Some(version) if version != command.expected_version => {
            Err(Rejection::Version { expected: Some(command.expected_version), current: Some(version) })
        }
        Some(_) => {
            state.keys.remove(&(command.space, command.key.clone()));
            Ok(Outcome::Applied)
        }
    }
}
