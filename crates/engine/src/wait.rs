//! Waiting at the tail.

use std::time::Duration;

use kelda_format::{Offset, StreamId};

use crate::engine::Engine;
use crate::types::Wait;

impl Engine {
    /// Waits until the durable tail is past `after`, or something else ends the wait.
    pub async fn wait(&self, _stream: StreamId, _after: Offset, _timeout: Duration) -> Wait {
        Wait::TimedOut
    }
}
