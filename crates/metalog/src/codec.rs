//! Between bytes and what the driver works with: owns the translation of decoding errors, guarantees that a
//! newer version is told apart from damage, never looks inside a command.

use bytes::Bytes;
use kelda_format::{DecodeError, LogEntry};
use kelda_meta::State;

/// Why bytes are of no use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Undecodable {
    /// Written by newer software.
    Newer { found: u32, known: u32 },
    /// Damaged, or never an entry or snapshot.
    Damaged(String),
}

impl From<DecodeError> for Undecodable {
    fn from(error: DecodeError) -> Self {
        match error.newer {
            Some(newer) => Self::Newer { found: newer.found, known: newer.known },
            None => Self::Damaged(error.to_string()),
        }
    }
}

pub(crate) fn decode_entry(bytes: &Bytes) -> Result<LogEntry, Undecodable> {
    Ok(LogEntry::decode(bytes)?)
}

/// The state of a snapshot that was stored at `index`.
pub(crate) fn decode_snapshot(index: u64, bytes: &Bytes) -> Result<State, Undecodable> {
    let state = State::from_snapshot(bytes)?;
    if state.applied() == index {
        Ok(state)
    } else {
        Err(Undecodable::Damaged(format!("it holds the state after entry {}", state.applied())))
    }
}

/// The snapshot of a state. It is decoded before it may replace a part of the log: what does not come back
/// must not be relied on. Row by row, since another state would take as much memory again.
pub(crate) fn encode_snapshot(state: &State) -> Result<Bytes, String> {
    let bytes = state.to_snapshot();
    match state.is_snapshot(&bytes) {
        Ok(true) => Ok(bytes),
        Ok(false) => Err("the snapshot comes back as another state".to_owned()),
        Err(error) => Err(format!("the snapshot does not decode: {error}")),
    }
}
