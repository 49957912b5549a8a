//! What is known of a stream without opening it: owns how view and open stream are put together. Never waits.

use kelda_format::{StreamId, Timestamp};
use kelda_meta::State;

use crate::bounds::Bounds;
use crate::engine::{Engine, Running};
use crate::types::StreamStatus;

impl Engine {
    /// The status of a stream, open or closed; none when it is gone. Never opens it.
    #[must_use]
    pub fn status(&self, stream: StreamId) -> Option<StreamStatus> {
        let running = self.inner.current.load_full();
        let (view, bounds) = running.look(stream)?;
        let row = view.stream(stream)?;
        Some(StreamStatus {
            start: bounds.start,
            tail: bounds.tail,
            tail_known: bounds.known,
            sealed: bounds.sealed,
            last_timestamp: bounds.last_timestamp,
            oldest_timestamp: running.oldest(&view, stream, &bounds),
            bytes: row.bytes + bounds.uncommitted_bytes,
            epoch: row.epoch,
            open: bounds.open,
        })
    }
}

impl Running {
    /// Time of the first record held, when it is known without a read: not after a trim into the middle of an object.
    fn oldest(&self, view: &State, stream: StreamId, bounds: &Bounds) -> Option<Timestamp> {
        if bounds.start >= bounds.tail {
            return None;
        }
        if let Some(first) = view.object_at(stream, bounds.start)
            && (first.base == bounds.start || first.first_timestamp == first.last_timestamp)
        {
            return Some(first.first_timestamp);
        }
        let open = self.streams.get(stream)?;
        let state = open.readable()?;
        state.cache.time_at(bounds.start)
    }
}
