//! An entry of the metadata log: owns its layout. Guarantees that an entry which decodes is whole and of a
//! known version; the caller checks that it is of its own cluster. Never skips what it does not know.

use bytes::Bytes;

use crate::command::Command;
use crate::rows::Nonce;
use crate::{ClusterId, DecodeError, SessionId};

/// One flush of proposals, as it stands in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// The cluster.
    pub cluster: ClusterId,
    /// Whose flush; absent before the proposer has a session.
    pub session: Option<SessionId>,
    /// The number of the flush in its session; they grow. Zero without a session.
    pub flush: u64,
    /// Random, of this entry, by which a writer knows its own write again (P8).
    pub nonce: Nonce,
    /// The commands, applied in this order.
    pub commands: Vec<Command>,
}

impl LogEntry {
    /// The bytes for the log.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        Bytes::new()
    }

    /// Reads an entry.
    ///
    /// # Errors
    /// When the bytes are not an entry of a known version with the right checksum.
    pub fn decode(bytes: &Bytes) -> Result<LogEntry, DecodeError> {
        Err(DecodeError::new("log entry", 0, format!("{} bytes", bytes.len())))
    }
}
