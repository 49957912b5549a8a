//! Which streams this session holds open: owns the map and the turn that serialises what opens or ends one stream.
//! Guarantees that a stream is opened once however many ask, that nothing is added after the session ended, and
//! that a stream which is not open costs nothing. Never proposes anything.

use std::collections::BTreeMap;
use std::sync::Arc;

use kelda_format::StreamId;
use parking_lot::{Mutex, RwLock};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{OpenStream, Phase};

/// The streams of one session.
#[derive(Default)]
pub(crate) struct Registry {
    slots: RwLock<Slots>,
}

#[derive(Default)]
struct Slots {
    ended: bool,
    by_id: BTreeMap<StreamId, Arc<Slot>>,
}

struct Slot {
    turn: Arc<Semaphore>,
    stream: Mutex<Option<Arc<OpenStream>>>,
}

/// The right to open or end one stream; others wait for it.
pub(crate) struct Turn {
    registry: Arc<Registry>,
    id: StreamId,
    /// Present until dropped.
    slot: Option<Arc<Slot>>,
    _permit: OwnedSemaphorePermit,
}

impl Registry {
    /// The stream, if it is open.
    pub(crate) fn get(&self, id: StreamId) -> Option<Arc<OpenStream>> {
        let slots = self.slots.read();
        let stream = slots.by_id.get(&id)?.stream.lock();
        stream.clone()
    }

    /// All open streams, in the order of their ids.
    pub(crate) fn all(&self) -> Vec<Arc<OpenStream>> {
        self.slots.read().by_id.values().filter_map(|slot| slot.stream.lock().clone()).collect()
    }

    /// Waits for the turn to open or end a stream. None when the session ended.
    pub(crate) async fn turn(self: &Arc<Self>, id: StreamId) -> Option<Turn> {
        let slot = {
            let mut slots = self.slots.write();
            if slots.ended {
                return None;
            }
            let slot = slots.by_id.entry(id).or_insert_with(|| {
                Arc::new(Slot { turn: Arc::new(Semaphore::new(1)), stream: Mutex::new(None) })
            });
            Arc::clone(slot)
        };
        // The slot stays alive with this guard, and leaves the map when nobody needs it.
        let waiting = Waiting { registry: Arc::clone(self), id, slot: Some(slot) };
        let turn = Arc::clone(&waiting.slot.as_ref()?.turn);
        let permit = turn.acquire_owned().await.ok()?;
        let slot = waiting.into_slot()?;
        Some(Turn { registry: Arc::clone(self), id, slot: Some(slot), _permit: permit })
    }

    /// Ends every stream and takes no more.
    pub(crate) fn end_all(&self) {
        let slots = {
            let mut slots = self.slots.write();
            slots.ended = true;
            std::mem::take(&mut slots.by_id)
        };
        for slot in slots.values() {
            let stream = slot.stream.lock().take();
            if let Some(stream) = stream {
                stream.end(Phase::Ended);
            }
        }
    }

    fn tidy(&self, id: StreamId, slot: Arc<Slot>) {
        let mut slots = self.slots.write();
        // Two: the map and this caller. Clones are made under the map's lock only.
        if Arc::strong_count(&slot) == 2 && slot.stream.lock().is_none() {
            slots.by_id.remove(&id);
        }
        drop(slot);
    }
}

struct Waiting {
    registry: Arc<Registry>,
    id: StreamId,
    slot: Option<Arc<Slot>>,
}

impl Waiting {
    fn into_slot(mut self) -> Option<Arc<Slot>> {
        self.slot.take()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            self.registry.tidy(self.id, slot);
        }
    }
}

impl Turn {
    /// The stream, if it is open.
    pub(crate) fn stream(&self) -> Option<Arc<OpenStream>> {
        self.slot.as_ref()?.stream.lock().clone()
    }

    /// Makes `stream` the open one. False when the session ended meanwhile.
    pub(crate) fn set(&self, stream: Arc<OpenStream>) -> bool {
        let slots = self.registry.slots.read();
        if slots.ended {
            return false;
        }
        if let Some(slot) = &self.slot {
            *slot.stream.lock() = Some(stream);
        }
        true
    }

    /// Takes the stream out.
    pub(crate) fn clear(&self) {
        if let Some(slot) = &self.slot {
            slot.stream.lock().take();
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            self.registry.tidy(self.id, slot);
        }
    }
}
