//! A store that is slow on purpose: owns one delay per kind of request. Guarantees that an answer comes no sooner. Never
//! active unless somebody asked for it, for tests and measurements.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use crate::{Adopted, Clock, Disk, ObjectInfo, Store, StoreError, StoreOp, Tag};

/// A delay per kind of request; none by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    of: [Option<Duration>; StoreOp::ALL.len()],
}

impl Delays {
    /// From now on requests of this kind take so much longer.
    pub fn set(&mut self, op: StoreOp, delay: Duration) {
        self.of[op as usize] = Some(delay);
    }

    /// The delay of requests of this kind. A swap and an adoption are puts unless something else was said of them.
    #[must_use]
    pub fn get(&self, op: StoreOp) -> Duration {
        let of = |op: StoreOp| self.of[op as usize];
        match op {
            StoreOp::Swap | StoreOp::Adopt => of(op).or(of(StoreOp::Put)),
            _ => of(op),
        }
        .unwrap_or_default()
    }

    /// What was said of this kind itself.
    #[must_use]
    pub fn said(&self, op: StoreOp) -> Option<Duration> {
        self.of[op as usize]
    }

    /// Whether nothing is delayed.
    #[must_use]
    pub fn is_none(&self) -> bool {
        StoreOp::ALL.iter().all(|op| self.get(*op).is_zero())
    }
}

/// A store with delays.
pub struct Delayed {
    inner: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    delays: Delays,
}

impl Delayed {
    /// `inner`, with these delays before every request.
    pub fn new(inner: Arc<dyn Store>, clock: Arc<dyn Clock>, delays: Delays) -> Delayed {
        Delayed { inner, clock, delays }
    }

    async fn wait(&self, op: StoreOp) {
        let delay = self.delays.get(op);
        if !delay.is_zero() {
            self.clock.sleep(delay).await;
        }
    }
}

#[async_trait]
impl Store for Delayed {
    async fn put_if_absent(&self, key: &str, body: Bytes) -> Result<(), StoreError> {
        self.wait(StoreOp::Put).await;
        self.inner.put_if_absent(key, body).await
    }

    async fn put(&self, key: &str, body: Bytes) -> Result<(), StoreError> {
        self.wait(StoreOp::Put).await;
        self.inner.put(key, body).await
    }

    async fn swap(&self, key: &str, body: Bytes, expected: &Tag) -> Result<Tag, StoreError> {
        self.wait(StoreOp::Swap).await;
        self.inner.swap(key, body, expected).await
    }

    async fn get(&self, key: &str) -> Result<Bytes, StoreError> {
        self.wait(StoreOp::Get).await;
        self.inner.get(key).await
    }

    async fn get_range(&self, key: &str, range: Range<u64>) -> Result<Bytes, StoreError> {
        self.wait(StoreOp::Get).await;
        self.inner.get_range(key, range).await
    }

    async fn get_ranges(&self, key: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>, StoreError> {
        self.wait(StoreOp::Get).await;
        self.inner.get_ranges(key, ranges).await
    }

    async fn head(&self, key: &str) -> Result<Option<ObjectInfo>, StoreError> {
        self.wait(StoreOp::Head).await;
        self.inner.head(key).await
    }

    async fn delete(&self, key: &str) -> Result<(), StoreError> {
        self.wait(StoreOp::Delete).await;
        self.inner.delete(key).await
    }

    async fn delete_many(&self, keys: &[String]) -> Result<(), StoreError> {
        for some in keys.chunks(self.inner.keys_per_delete()) {
            self.wait(StoreOp::Delete).await;
            self.inner.delete_many(some).await?;
        }
        Ok(())
    }

    fn keys_per_delete(&self) -> usize {
        self.inner.keys_per_delete()
    }

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>, StoreError> {
        self.wait(StoreOp::List).await;
        self.inner.list(prefix).await
    }

    async fn list_page(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<ObjectInfo>, StoreError> {
        self.wait(StoreOp::List).await;
        self.inner.list_page(prefix, after, limit).await
    }

    async fn adopt(&self, disk: &dyn Disk, path: &str, key: &str) -> Result<Adopted, StoreError> {
        self.wait(StoreOp::Adopt).await;
        self.inner.adopt(disk, path, key).await
    }
}
