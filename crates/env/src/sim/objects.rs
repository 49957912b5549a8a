//! The objects of a simulated store: owns their bytes, versions and times. Guarantees that every write makes a version that
//! no other object has. Never fails: what goes wrong happens on the way.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use bytes::Bytes;

use super::disk::SimLink;
use crate::{ObjectInfo, StoreError, Tag};

/// The bytes of an object.
pub(super) enum Body {
    Own(Bytes),
    /// Those of a file that a disk may still know under another name.
    Linked(SimLink),
}

impl Body {
    fn read(&self) -> Bytes {
        match self {
            Body::Own(bytes) => bytes.clone(),
            Body::Linked(link) => link.read(),
        }
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        if let Body::Linked(link) = self {
            link.pin(false);
        }
    }
}

struct Object {
    body: Body,
    modified: u64,
    version: u64,
}

impl Object {
    fn tag(&self) -> Tag {
        Tag(self.version.to_string())
    }

    fn info(&self, key: &str) -> ObjectInfo {
        let len = self.body.read().len() as u64;
        ObjectInfo { key: key.to_owned(), len, modified: self.modified, tag: Some(self.tag()) }
    }
}

/// Changes are kept for so long, for listings that are behind.
const MAX_STALE: Duration = Duration::from_secs(60);

/// What a key held until a moment of the run.
struct Change {
    at: Duration,
    key: String,
    before: Option<ObjectInfo>,
}

/// All objects of one store.
#[derive(Default)]
pub(super) struct Objects {
    held: BTreeMap<String, Object>,
    versions: u64,
    /// The time by the store's clock, in milliseconds since the Unix epoch.
    now: u64,
    /// The time since the run began.
    elapsed: Duration,
    /// The changes of the last minute, the oldest first.
    changes: VecDeque<Change>,
    /// The keys of uploads that broke off, each as often as it did.
    left_over: Vec<String>,
}

impl Objects {
    /// From now on it is this time, by the store's clock and since the run began.
    pub(super) fn set_now(&mut self, now: u64, elapsed: Duration) {
        (self.now, self.elapsed) = (now, elapsed);
        while self.changes.front().is_some_and(|change| change.at + MAX_STALE < elapsed) {
            self.changes.pop_front();
        }
    }

    fn changed(&mut self, key: &str) {
        let before = self.info(key);
        self.changes.push_back(Change { at: self.elapsed, key: key.to_owned(), before });
    }

    pub(super) fn leave_over(&mut self, key: String) {
        self.left_over.push(key);
    }

    pub(super) fn left_over(&self) -> Vec<String> {
        self.left_over.clone()
    }

    pub(super) fn keys(&self) -> Vec<String> {
        self.held.keys().cloned().collect()
    }

    pub(super) fn read(&self, key: &str) -> Option<Bytes> {
        self.held.get(key).map(|object| object.body.read())
    }

    pub(super) fn info(&self, key: &str) -> Option<ObjectInfo> {
        self.held.get(key).map(|object| object.info(key))
    }

    pub(super) fn insert(&mut self, key: String, body: Body) -> Tag {
        self.changed(&key);
        self.versions += 1;
        let object = Object { body, modified: self.now, version: self.versions };
        let tag = object.tag();
        self.held.insert(key, object);
        tag
    }

    /// # Errors
    /// `AlreadyExists`.
    pub(super) fn create(&mut self, key: String, body: Body) -> Result<(), StoreError> {
        if self.held.contains_key(&key) {
            return Err(StoreError::AlreadyExists { key });
        }
        self.insert(key, body);
        Ok(())
    }

    /// # Errors
    /// `Stale`.
    pub(super) fn swap(&mut self, key: String, body: Bytes, expected: &Tag) -> Result<Tag, StoreError> {
        match self.held.get(&key) {
            Some(object) if object.tag() == *expected => Ok(self.insert(key, Body::Own(body))),
            _ => Err(StoreError::Stale { key }),
        }
    }

    pub(super) fn remove(&mut self, key: &str) -> bool {
        self.changed(key);
        self.held.remove(key).is_some()
    }

    /// The objects below a prefix, as they were so long ago.
    pub(super) fn list(&self, prefix: &str, ago: Duration) -> Vec<ObjectInfo> {
        let found = self.held.range(prefix.to_owned()..).take_while(|(key, _)| key.starts_with(prefix));
        let mut listed: BTreeMap<String, ObjectInfo> =
            found.map(|(key, object)| (key.clone(), object.info(key))).collect();
        let later = |change: &&Change| change.at + ago > self.elapsed && change.key.starts_with(prefix);
        for change in self.changes.iter().rev().filter(later) {
            match &change.before {
                Some(info) => listed.insert(change.key.clone(), info.clone()),
                None => listed.remove(&change.key),
            };
        }
        listed.into_values().collect()
    }

    pub(super) fn flip_bit(&mut self, key: &str, at: u64) -> bool {
        match self.held.get_mut(key).map(|object| &mut object.body) {
            Some(Body::Linked(link)) => link.flip_bit(at),
            Some(Body::Own(bytes)) => {
                let mut copy = bytes.to_vec();
                let byte = usize::try_from(at).ok().and_then(|at| copy.get_mut(at));
                let found = byte.map(|byte| *byte ^= 1).is_some();
                *bytes = copy.into();
                found
            }
            None => false,
        }
    }
}
