//! What every handle on one in-memory log shares: owns slots, snapshots and the pointer, guarantees that each
//! single step is atomic, never takes two steps of P20 at once.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use kelda_env::watch;
use parking_lot::Mutex;

use super::Bounds;
use crate::store::{AppendError, FIRST_INDEX, LogError, SnapshotPut};

/// A snapshot's name: its index and a number that tells two snapshots at one index apart.
pub(super) type SnapshotName = (u64, u64);

/// One log.
#[derive(Debug)]
pub(super) struct Shared {
    data: Mutex<Data>,
    head: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Data {
    slots: BTreeMap<u64, Bytes>,
    snapshots: BTreeMap<SnapshotName, Bytes>,
    quarantined: BTreeMap<SnapshotName, String>,
    pointer: Pointer,
    names: u64,
    /// Requests that are still on their way though their sender gave them up.
    late: Vec<(u64, Bytes)>,
}

/// What the pointer object holds; see the module of [`crate::store`].
#[derive(Clone, Copy, Debug)]
struct Pointer {
    newest: Option<SnapshotName>,
    previous: Option<SnapshotName>,
    bound: u64,
}

impl Default for Pointer {
    fn default() -> Self {
        Self { newest: None, previous: None, bound: FIRST_INDEX }
    }
}

impl Pointer {
    fn snapshot_index(&self) -> u64 {
        self.newest.map_or(0, |(index, _)| index)
    }
}

impl Default for Shared {
    fn default() -> Self {
        Self { data: Mutex::default(), head: watch::Sender::new(0) }
    }
}

impl Shared {
    /// Creates the slot if it is absent. Like an object store it knows nothing of the pointer here.
    pub(super) fn create(&self, index: u64, entry: &Bytes) -> Result<(), AppendError> {
        let mut data = self.data.lock();
        let last = data.slots.last_key_value().map_or(0, |(last, _)| *last);
        let next = last.max(data.pointer.snapshot_index()) + 1;
        if index > next || index < FIRST_INDEX {
            return Err(AppendError::Hole { index, next });
        }
        match data.slots.get(&index) {
            Some(there) if there == entry => Ok(()),
            Some(_) => Err(AppendError::Taken { index }),
            None => {
                data.slots.insert(index, entry.clone());
                Ok(())
            }
        }
    }

    /// The writer's check of P20, after the slot was created or found taken.
    pub(super) fn above_bound(&self, index: u64) -> Result<(), AppendError> {
        let bound = self.data.lock().pointer.bound;
        if bound > index { Err(AppendError::Truncated { index, bound }) } else { Ok(()) }
    }

    /// Keeps a request whose answer is an error, and which may arrive all the same.
    pub(super) fn delay(&self, index: u64, entry: Bytes) {
        self.data.lock().late.push((index, entry));
    }

    /// Lets those late requests arrive for which `arrives` says so.
    pub(super) fn land(&self, mut arrives: impl FnMut() -> bool) {
        let late = std::mem::take(&mut self.data.lock().late);
        for (index, entry) in late {
            if !arrives() {
                self.delay(index, entry);
            } else if self.create(index, &entry).is_ok() && self.above_bound(index).is_ok() {
                self.announce(index);
            }
        }
    }

    /// Wakes whoever waits for `index`.
    pub(super) fn announce(&self, index: u64) {
        self.head.send_if_modified(|head| {
            let news = index > *head;
            *head = index.max(*head);
            news
        });
    }

    pub(super) fn fetch(&self, from: u64, limit: usize) -> Vec<(u64, Bytes)> {
        let data = self.data.lock();
        let slots = data.slots.range(from..).zip(from..);
        slots
            .take_while(|((index, _), wanted)| *index == wanted)
            .map(|((index, entry), _)| (*index, entry.clone()))
            .take(limit)
            .collect()
    }

    /// The reader's check of P20, after the fetch.
    pub(super) fn counts(&self, from: u64, fetched: &[(u64, Bytes)]) -> Result<(), LogError> {
        let pointer = self.data.lock().pointer;
        let hole = fetched.is_empty() && pointer.snapshot_index() >= from;
        if pointer.bound > from || hole {
            return Err(LogError::Truncated { index: from, bound: pointer.bound });
        }
        Ok(())
    }

    pub(super) fn newest(&self) -> Option<SnapshotName> {
        self.data.lock().pointer.newest
    }

    pub(super) fn snapshot(&self, name: SnapshotName) -> Option<Bytes> {
        self.data.lock().snapshots.get(&name).cloned()
    }

    pub(super) fn store_snapshot(&self, index: u64, state: Bytes) -> Result<SnapshotName, LogError> {
        let mut data = self.data.lock();
        if index > data.slots.last_key_value().map_or(0, |(last, _)| *last) {
            return Err(LogError::Damaged(format!("a snapshot at {index} lies past the last entry")));
        }
        data.names += 1;
        let name = (index, data.names);
        data.snapshots.insert(name, state);
        Ok(name)
    }

    /// Moves the pointer to `name` by compare-and-swap, only forward (P20).
    pub(super) fn move_pointer(&self, name: SnapshotName) -> SnapshotPut {
        let mut data = self.data.lock();
        let current = data.pointer;
        if current.snapshot_index() >= name.0 {
            data.snapshots.remove(&name);
            return SnapshotPut::Superseded { by: current.snapshot_index() };
        }
        let bound = current.bound.max(current.snapshot_index() + 1);
        data.pointer = Pointer { newest: Some(name), previous: current.newest, bound };
        SnapshotPut::Newest
    }

    /// Removes snapshots that are neither the newest, nor the one before, nor quarantined, nor still to be
    /// pointed to.
    pub(super) fn drop_snapshots(&self) {
        let mut data = self.data.lock();
        let Pointer { newest, previous, .. } = data.pointer;
        let kept: BTreeSet<_> = newest.into_iter().chain(previous).collect();
        let limit = newest.unwrap_or_default();
        let Data { snapshots, quarantined, .. } = &mut *data;
        snapshots.retain(|name, _| *name > limit || kept.contains(name) || quarantined.contains_key(name));
    }

    /// Deletes the oldest slot below the bound; false when there is none.
    pub(super) fn delete_oldest(&self) -> bool {
        let mut data = self.data.lock();
        let bound = data.pointer.bound;
        match data.slots.first_key_value() {
            Some((index, _)) if *index < bound => data.slots.pop_first().is_some(),
            _ => false,
        }
    }

    pub(super) fn quarantine(&self, index: u64, reason: &str) {
        let mut data = self.data.lock();
        if let Some(name) = data.pointer.newest.filter(|name| name.0 == index) {
            data.quarantined.insert(name, reason.to_owned());
        }
    }

    pub(super) fn quarantined(&self) -> Vec<(u64, String)> {
        self.data.lock().quarantined.iter().map(|(name, reason)| (name.0, reason.clone())).collect()
    }

    pub(super) fn plant(&self, index: u64, entry: Bytes) {
        self.data.lock().slots.insert(index, entry);
    }

    pub(super) fn damage_snapshot(&self, bytes: Bytes) {
        let mut data = self.data.lock();
        if let Some(name) = data.pointer.newest {
            data.snapshots.insert(name, bytes);
        }
    }

    pub(super) fn bounds(&self) -> Bounds {
        let data = self.data.lock();
        Bounds {
            bound: data.pointer.bound,
            snapshot: data.pointer.snapshot_index(),
            lowest: data.slots.first_key_value().map(|(index, _)| *index),
        }
    }

    pub(super) async fn wait(&self, after: u64) {
        let mut head = self.head.subscribe();
        // The sender lives in `self`, so this ends only with the value.
        let _ = head.wait_for(|head| *head > after).await;
    }
}
