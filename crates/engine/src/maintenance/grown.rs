//! Streams that grew: owns the set of those that a commit moved on until maintenance looked at them. Guarantees that a stream
//! is in it once, so that it is bounded by the streams there are. Never looks at a stream.

use std::collections::BTreeSet;

use kelda_format::StreamId;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// The streams that grew since they were last taken.
#[derive(Debug, Default)]
pub(crate) struct Grown {
    streams: Mutex<BTreeSet<StreamId>>,
    added: Notify,
}

impl Grown {
    /// Adds streams, and wakes who waits when there are some.
    pub(crate) fn add(&self, streams: impl IntoIterator<Item = StreamId>) {
        let mut set = self.streams.lock();
        set.extend(streams);
        if !set.is_empty() {
            self.added.notify_one();
        }
    }

    /// Takes up to `limit` of them.
    pub(crate) fn take(&self, limit: usize) -> Vec<StreamId> {
        let mut set = self.streams.lock();
        let mut taken = Vec::new();
        while taken.len() < limit
            && let Some(stream) = set.pop_first()
        {
            taken.push(stream);
        }
        taken
    }

    /// Resolves when some were added since the last call.
    pub(crate) async fn any(&self) {
        self.added.notified().await;
    }
}
