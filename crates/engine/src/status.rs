//! What is known of a stream without opening it.

use kelda_format::StreamId;

use crate::engine::Engine;
use crate::types::StreamStatus;

impl Engine {
    /// The status of a stream, open or closed; none when it is gone. Never opens it.
    #[must_use]
    pub fn status(&self, _stream: StreamId) -> Option<StreamStatus> {
        None
    }
}
