//! Creations that were left unfinished, by a crash or by a node that could not go on: owns the way to clear them
//! up when nobody repeats the request.
//!
//! Guarantees that an entry does not stay initialising for ever: it becomes live if its content is durable, else
//! it is removed, for then nobody was ever told of it. Never holds more than there are such entries.

use std::collections::BTreeMap;

use kelda_format::rows::EntryState;
use kelda_format::{StreamId, StreamName};
use parking_lot::Mutex;

use crate::NodeFault;
use crate::service::Inner;

/// The unfinished creations that are known.
#[derive(Default)]
pub(crate) struct Leftovers {
    streams: Mutex<BTreeMap<StreamId, StreamName>>,
}

impl Leftovers {
    pub(crate) fn add(&self, name: &StreamName, stream: StreamId) {
        self.streams.lock().insert(stream, name.clone());
    }

    pub(crate) fn len(&self) -> usize {
        self.streams.lock().len()
    }

    fn take(&self) -> BTreeMap<StreamId, StreamName> {
        std::mem::take(&mut *self.streams.lock())
    }
}

impl Inner {
    /// Takes note of what a failed creation may have left, and has the timer look at it in a while.
    pub(crate) fn leave(&self, name: &StreamName) {
        let view = self.meta.view();
        if let Some(entry) = view.entry(name).filter(|entry| entry.state == EntryState::Initialising) {
            self.leftovers.add(name, entry.stream);
            self.deadlines.moved.notify_one();
        }
    }

    /// Clears up every known unfinished creation once; what cannot be now stays known.
    pub(crate) async fn clear_up(&self) {
        for (stream, name) in self.leftovers.take() {
            match self.clear_up_one(&name, stream).await {
                Ok(()) => {}
                Err(error) => {
                    tracing::debug!(%name, %stream, %error, "a creation is left unfinished for now");
                    self.leftovers.add(&name, stream);
                }
            }
        }
    }

    async fn clear_up_one(&self, name: &StreamName, stream: StreamId) -> Result<(), NodeFault> {
        let _flight = self.flights.enter(name).await?;
        let unfinished = {
            let view = self.meta.view();
            view.entry(name).is_some_and(|e| e.stream == stream && e.state == EntryState::Initialising)
        };
        if !unfinished {
            return Ok(());
        }
        match self.is_durable(stream).await? {
            None => Ok(()),
            Some(true) => self.enliven(name, stream).await,
            Some(false) => self.discard(stream).await,
        }
    }
}
