//! When a position is stored: owns the count of entries since the last time, guarantees that one store is under way at a
//! time and that positions never go back. Never decides what is finished.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::JoinHandle;

use super::end::ReaderEnd;
use super::shared::Shared;
use crate::checkpoint::{AnyCheckpoint, Position};
use crate::error::{CheckpointError, Error};
use crate::{task, timer};

/// How often a reader stores its position: after so many finished entries, or after some time, whichever is first. And
/// when it stops.
///
/// More seldom is faster, and a crash hands over more entries again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SaveEvery {
    entries: u64,
    time: Option<Duration>,
}

impl SaveEvery {
    /// After each entry, before the next is handed over (with a concurrency of 1).
    #[must_use]
    pub const fn entry() -> SaveEvery {
        SaveEvery::entries(1)
    }

    /// After so many entries; 0 counts as 1.
    #[must_use]
    pub const fn entries(entries: u64) -> SaveEvery {
        SaveEvery { entries: if entries == 0 { 1 } else { entries }, time: None }
    }

    /// After so much time only, if anything was finished in it.
    #[must_use]
    pub const fn time(time: Duration) -> SaveEvery {
        SaveEvery { entries: u64::MAX, time: Some(time) }
    }

    /// And after so much time at the latest.
    #[must_use]
    pub const fn or_time(self, time: Duration) -> SaveEvery {
        SaveEvery { time: Some(time), ..self }
    }
}

/// Stores the position of one reader.
pub(crate) struct Saver {
    checkpoint: Arc<dyn AnyCheckpoint>,
    name: String,
    every: SaveEvery,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    since: u64,
    saving: bool,
    saved: Option<Position>,
}

impl Saver {
    pub(crate) fn new(
        checkpoint: Arc<dyn AnyCheckpoint>,
        name: String,
        every: SaveEvery,
        saved: Option<Position>,
    ) -> Saver {
        Saver { checkpoint, name, every, state: Mutex::new(State { saved, ..State::default() }) }
    }

    /// An entry was finished: stores the position when that is due.
    pub(crate) async fn finished(&self, position: impl Fn() -> Option<Position>) -> Result<(), ReaderEnd> {
        self.state.lock().since += 1;
        while self.begin(self.every.entries) {
            // Whoever finishes meanwhile leaves it to this one to look again.
            self.save(position()).await?;
        }
        Ok(())
    }

    /// Some time is over.
    async fn elapsed(&self, position: impl Fn() -> Option<Position>) -> Result<(), ReaderEnd> {
        if self.begin(1) { self.save(position()).await } else { Ok(()) }
    }

    /// The reader is at its end: nothing else is under way.
    pub(crate) async fn last(&self, position: Option<Position>) -> Result<(), ReaderEnd> {
        self.state.lock().saving = true;
        self.save(position).await
    }

    /// Whether it is due and nobody else is at it.
    fn begin(&self, entries: u64) -> bool {
        let mut state = self.state.lock();
        let due = !state.saving && state.since >= entries;
        if due {
            (state.saving, state.since) = (true, 0);
        }
        due
    }

    async fn save(&self, position: Option<Position>) -> Result<(), ReaderEnd> {
        let new = position.filter(|_| self.state.lock().saved != position);
        let result = match new {
            Some(position) => self.checkpoint.save(&self.name, position).await,
            None => Ok(()),
        };
        let mut state = self.state.lock();
        state.saving = false;
        match (result, new) {
            (Ok(()), Some(_)) => state.saved = new,
            (Err(cause), Some(position)) => {
                let error = failure(&self.name, "cannot be stored", cause);
                return Err(ReaderEnd::Checkpoint { offset: position.offset, error });
            }
            (_, None) => {}
        }
        Ok(())
    }
}

/// A checkpoint's error under its name.
pub(crate) fn failure(name: &str, what: &'static str, cause: crate::checkpoint::StoreError) -> Error {
    Error::Checkpoint(CheckpointError { name: name.to_owned(), what, cause: Arc::from(cause) })
}

/// Starts what stores the position by time, when that is wanted.
pub(crate) fn start_periodic(shared: &Arc<Shared>) -> Option<JoinHandle<()>> {
    let time = shared.saver.as_ref()?.every.time?;
    let shared = Arc::clone(shared);
    Some(task::spawn(async move {
        let mut closing = shared.closing.subscribe();
        loop {
            // A store that is under way is never given up: it would go on by itself.
            tokio::select! {
                () = timer::sleep(time) => {}
                _ = closing.wait_for(|closing| *closing) => return,
            }
            let Some(saver) = &shared.saver else { return };
            if let Err(end) = saver.elapsed(|| shared.position()).await {
                return shared.end(end);
            }
        }
    }))
}
