//! The objects of a simulated store: owns their bytes, versions and times. Guarantees that every write makes a version that
//! no other object has. Never fails: what goes wrong happens on the way.

use std::collections::BTreeMap;

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

/// All objects of one store.
#[derive(Default)]
pub(super) struct Objects {
    held: BTreeMap<String, Object>,
    versions: u64,
    /// The time by the store's clock, in milliseconds since the Unix epoch.
    now: u64,
}

impl Objects {
    /// From now on it is this time, by the store's clock.
    pub(super) fn set_now(&mut self, now: u64) {
        self.now = now;
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
        self.held.remove(key).is_some()
    }

    pub(super) fn list(&self, prefix: &str) -> Vec<ObjectInfo> {
        let found = self.held.range(prefix.to_owned()..).take_while(|(key, _)| key.starts_with(prefix));
        found.map(|(key, object)| object.info(key)).collect()
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
