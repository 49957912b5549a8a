//! Readers that can be left running: owns the handle of one.
//!
//! The rules are in `core` and know no I/O; `shared` is what the parts wait on, `run` what runs in the background, `feed`
//! where entries come from. Guarantees what `core` does; in addition that a reader whose handle is dropped stops.

pub(crate) mod builder;
pub(crate) mod core;
pub(crate) mod dead_letters;
mod end;
pub(crate) mod feed;
mod frames;
mod messages;
mod ranges;
mod run;
mod saver;
mod shared;
mod within;

use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::JoinHandle;

pub use builder::ReaderBuilder;
pub use end::{FailureCause, Outcome, ReaderEnd, ReaderState};
pub use messages::{Delivery, Messages};
pub use run::OnGap;
pub use saver::SaveEvery;

use run::Asking;
use shared::Shared;

/// A reader that runs in the background. Dropping it stops the reader, without waiting for handlers at work.
///
/// ```no_run
/// # async fn example(kelda: kelda_client::Kelda) -> Result<(), kelda_client::Error> {
/// let reader = kelda.stream::<serde_json::Value>("orders").from_first().consume(|_| async {}).await?;
/// println!("{} handled, up to {:?}", reader.handled(), reader.last_handled_offset());
/// let end = reader.stop().await;
/// assert!(!end.is_failure(), "{end}");
/// # Ok(()) }
/// ```
#[must_use = "a reader stops when its handle is dropped"]
pub struct Reader {
    shared: Arc<Shared>,
}

impl Reader {
    fn start(shared: Arc<Shared>, asking: Asking, workers: Vec<JoinHandle<()>>) -> Reader {
        builder::start(asking, workers);
        Reader { shared }
    }

    /// The stream's name.
    #[must_use]
    pub fn stream(&self) -> &str {
        &self.shared.stream
    }

    /// The highest offset that is finished with everything given before it finished too; skipped entries count as
    /// finished. `None` before the first.
    #[must_use]
    pub fn last_handled_offset(&self) -> Option<u64> {
        self.shared.core.lock().last_handled()
    }

    /// How many entries were handled.
    #[must_use]
    pub fn handled(&self) -> u64 {
        self.shared.core.lock().counts().handled
    }

    /// How many entries could not be handled, skipped ones among them.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.shared.core.lock().counts().failed
    }

    /// How many entries were skipped, each with a copy put aside.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.shared.core.lock().counts().skipped
    }

    /// Whether entries are handed over, now or when the connection is back.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.shared.state.borrow().is_active()
    }

    /// How it is right now.
    #[must_use]
    pub fn state(&self) -> ReaderState {
        self.shared.state.borrow().clone()
    }

    /// The state, to be waited on.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<ReaderState> {
        self.shared.state.subscribe()
    }

    /// Hands over no further entry and waits until the handlers at work have returned and the position is stored.
    ///
    /// A handler of this reader may call it too, and is not waited for then: the reader is told to stop, and the call returns
    /// at once with why it ends as far as that is known. The handlers at work still finish, and the position is stored after
    /// them. This holds in the handler itself; one that waits for another task which calls it waits for ever.
    pub async fn stop(self) -> ReaderEnd {
        self.shared.stop();
        self.end().await
    }

    /// Waits until it ends by itself, and says why.
    ///
    /// In a handler of this reader that would wait for ever, and the handle is used up: there it is [`Reader::stop`].
    pub async fn join(self) -> ReaderEnd {
        if within::is_handler_of(&self.shared) {
            self.shared.stop();
        }
        self.end().await
    }

    async fn end(&self) -> ReaderEnd {
        if within::is_handler_of(&self.shared) {
            return self.shared.ending.lock().clone().unwrap_or(ReaderEnd::Stopped);
        }
        let mut state = self.shared.state.subscribe();
        loop {
            if let ReaderState::Ended(end) = &*state.borrow_and_update() {
                return end.clone();
            }
            // The sender lives as long as this handle.
            if state.changed().await.is_err() {
                return ReaderEnd::Stopped;
            }
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.shared.stop();
    }
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (stream, offset) = (self.stream(), self.last_handled_offset());
        f.debug_struct("Reader")
            .field("stream", &stream)
            .field("last_handled_offset", &offset)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
