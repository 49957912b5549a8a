//! A bounded cache whose missing values are loaded by one reader while the others wait.
//!
//! Owns the least-recently-used order and the claims on values that are being loaded. Guarantees that the
//! values kept never weigh more than the capacity, that what was loaded before anybody asked stays until it is used (up
//! to half of the capacity: beyond it the oldest goes with the others), that one key is loaded by one claim at a time, and that a
//! claim dropped half-way (its reader went away, its load failed) wakes the waiters, who then try for
//! themselves. Never loads anything itself, never remembers a failure, never iterates in hash order.

use std::collections::BTreeMap;

use kelda_env::watch;
use parking_lot::Mutex;

/// Values by key, bounded by weight in bytes, loaded once however many readers ask.
pub(crate) struct LoadCache<K, V> {
    inner: Mutex<Inner<K, V>>,
}

struct Inner<K, V> {
    capacity: usize,
    heaviest: usize,
    weight: usize,
    /// Grows by one with every use, so it orders the kept values by their last use.
    clock: u64,
    slots: BTreeMap<K, Slot<V>>,
    by_use: BTreeMap<u64, K>,
    /// What was loaded ahead and not used yet, in the order in which it came, and its weight.
    by_load: BTreeMap<u64, K>,
    ahead_weight: usize,
}

enum Slot<V> {
    /// The receiver ends when the claim does, whatever came of it.
    Loading(watch::Receiver<()>),
    Kept {
        value: V,
        weight: usize,
        /// Its place in the order of use, or of loads while it is ahead of its first use.
        used: u64,
        ahead: bool,
    },
}

/// What a reader of one key finds.
pub(crate) enum Begin<'a, K: Ord + Copy, V: Clone> {
    /// The value is here.
    Ready(V),
    /// Somebody is loading it: wait on the end of this, then ask again.
    Wait(Pending),
    /// The caller has to load it.
    Load(Claim<'a, K, V>),
}

/// The end of somebody else's load.
pub(crate) struct Pending(watch::Receiver<()>);

impl Pending {
    /// Returns when the load has ended, well or badly.
    pub(crate) async fn ended(mut self) {
        // Nothing is ever sent: the channel closes when the claim is dropped, which ends this loop.
        while self.0.changed().await.is_ok() {}
    }
}

/// The exclusive duty to load some keys; dropping it gives them up and wakes the waiters.
pub(crate) struct Claim<'a, K: Ord + Copy, V: Clone> {
    cache: &'a LoadCache<K, V>,
    keys: Vec<K>,
    /// Closes on drop, after the slots are settled.
    _waiters: watch::Sender<()>,
}

impl<K: Ord + Copy, V: Clone> LoadCache<K, V> {
    /// An empty cache that keeps at most `capacity` bytes of values. One heavier than `heaviest` is handed to
    /// whoever loaded it but not kept, so that it does not empty the cache.
    pub(crate) fn new(capacity: usize, heaviest: usize) -> Self {
        let inner = Inner {
            capacity,
            heaviest,
            weight: 0,
            clock: 0,
            slots: BTreeMap::new(),
            by_use: BTreeMap::new(),
            by_load: BTreeMap::new(),
            ahead_weight: 0,
        };
        LoadCache { inner: Mutex::new(inner) }
    }

    /// Looks up `key`; when it is absent, claims it together with the keys of `also` up to the first that is
    /// present or being loaded.
    pub(crate) fn begin(&self, key: K, also: impl Iterator<Item = K>) -> Begin<'_, K, V> {
        let mut inner = self.inner.lock();
        if let Some(value) = inner.touch(key) {
            return Begin::Ready(value);
        }
        if let Some(Slot::Loading(receiver)) = inner.slots.get(&key) {
            return Begin::Wait(Pending(receiver.clone()));
        }
        let (sender, receiver) = watch::channel(());
        let mut keys = vec![key];
        inner.slots.insert(key, Slot::Loading(receiver.clone()));
        for next in also {
            if inner.slots.contains_key(&next) {
                break;
            }
            inner.slots.insert(next, Slot::Loading(receiver.clone()));
            keys.push(next);
        }
        drop(inner);
        Begin::Load(Claim { cache: self, keys, _waiters: sender })
    }

    /// The value of `key` if it is kept; does not count as a use.
    pub(crate) fn peek(&self, key: K) -> Option<V> {
        match self.inner.lock().slots.get(&key) {
            Some(Slot::Kept { value, .. }) => Some(value.clone()),
            Some(Slot::Loading(_)) | None => None,
        }
    }

    /// Whether the value of `key` is kept or on its way; does not count as a use.
    pub(crate) fn is_known(&self, key: K) -> bool {
        self.inner.lock().slots.contains_key(&key)
    }

    /// How many bytes the kept values weigh.
    #[cfg(test)]
    pub(crate) fn weight(&self) -> usize {
        self.inner.lock().weight
    }
}

impl<K: Ord + Copy, V: Clone> Claim<'_, K, V> {
    /// The keys to load, the one asked for first.
    pub(crate) fn keys(&self) -> &[K] {
        &self.keys
    }

    /// Settles the claim with one value and its weight in bytes per key, in the order of `keys`.
    pub(crate) fn fulfil(self, values: impl IntoIterator<Item = (V, usize)>) {
        self.settle(values, false);
    }

    /// As [`Claim::fulfil`], for values that nobody asked for yet.
    pub(crate) fn fulfil_ahead(self, values: impl IntoIterator<Item = (V, usize)>) {
        self.settle(values, true);
    }

    fn settle(mut self, values: impl IntoIterator<Item = (V, usize)>, ahead: bool) {
        let keys = std::mem::take(&mut self.keys);
        let mut inner = self.cache.inner.lock();
        for key in &keys {
            inner.slots.remove(key);
        }
        for (key, (value, weight)) in keys.into_iter().zip(values) {
            inner.keep(key, value, weight, ahead);
        }
    }
}

impl<K: Ord + Copy, V: Clone> Drop for Claim<'_, K, V> {
    fn drop(&mut self) {
        let mut inner = self.cache.inner.lock();
        for key in &self.keys {
            inner.slots.remove(key);
        }
    }
}

impl<K: Ord + Copy, V: Clone> Inner<K, V> {
    fn touch(&mut self, key: K) -> Option<V> {
        let Some(Slot::Kept { value, weight, used, ahead }) = self.slots.get_mut(&key) else { return None };
        self.clock += 1;
        if std::mem::take(ahead) {
            self.ahead_weight -= *weight;
            self.by_load.remove(used);
        } else {
            self.by_use.remove(used);
        }
        self.by_use.insert(self.clock, key);
        *used = self.clock;
        Some(value.clone())
    }

    fn keep(&mut self, key: K, value: V, weight: usize, ahead: bool) {
        if weight > self.heaviest {
            return;
        }
        self.clock += 1;
        self.slots.insert(key, Slot::Kept { value, weight, used: self.clock, ahead });
        if ahead {
            self.by_load.insert(self.clock, key);
            self.ahead_weight += weight;
        } else {
            self.by_use.insert(self.clock, key);
        }
        self.weight += weight;
        while self.weight > self.capacity && self.evict() {}
    }

    /// Drops one value. False when there is none.
    fn evict(&mut self) -> bool {
        let crowded = self.ahead_weight > self.capacity / 2;
        let oldest = if crowded { None } else { self.by_use.pop_first() };
        let oldest = oldest.or_else(|| self.by_load.pop_first()).or_else(|| self.by_use.pop_first());
        let Some((_, key)) = oldest else { return false };
        if let Some(Slot::Kept { weight, ahead, .. }) = self.slots.remove(&key) {
            self.weight -= weight;
            self.ahead_weight -= if ahead { weight } else { 0 };
        }
        true
    }
}
