//! A store that is asked a bounded number of things at once: owns the places. Guarantees that a request leaves only when it
//! has one, in the order of asking. Never refuses for want of a place: callers wait, and have bounds of their own.

use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::{Adopted, Disk, ObjectInfo, Store, StoreError, StoreOp, Tag};

/// A store with a bound on requests in flight.
pub struct Limited {
    inner: Arc<dyn Store>,
    places: Semaphore,
}

impl Limited {
    /// `inner`, asked at most `requests` things at once; at least one.
    pub fn new(inner: Arc<dyn Store>, requests: usize) -> Limited {
        Limited { inner, places: Semaphore::new(requests.clamp(1, Semaphore::MAX_PERMITS)) }
    }

    async fn place(&self, key: &str, op: StoreOp) -> Result<SemaphorePermit<'_>, StoreError> {
        self.places.acquire().await.map_err(|error| StoreError::failed(key, op, error))
    }
}

#[async_trait]
impl Store for Limited {
    async fn put_if_absent(&self, key: &str, body: Bytes) -> Result<(), StoreError> {
        let _place = self.place(key, StoreOp::Put).await?;
        self.inner.put_if_absent(key, body).await
    }

    async fn put(&self, key: &str, body: Bytes) -> Result<(), StoreError> {
        let _place = self.place(key, StoreOp::Put).await?;
        self.inner.put(key, body).await
    }

    async fn swap(&self, key: &str, body: Bytes, expected: &Tag) -> Result<Tag, StoreError> {
        let _place = self.place(key, StoreOp::Swap).await?;
        self.inner.swap(key, body, expected).await
    }

    async fn get(&self, key: &str) -> Result<Bytes, StoreError> {
        let _place = self.place(key, StoreOp::Get).await?;
        self.inner.get(key).await
    }

    async fn get_range(&self, key: &str, range: Range<u64>) -> Result<Bytes, StoreError> {
        let _place = self.place(key, StoreOp::Get).await?;
        self.inner.get_range(key, range).await
    }

    async fn get_ranges(&self, key: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>, StoreError> {
        let _place = self.place(key, StoreOp::Get).await?;
        self.inner.get_ranges(key, ranges).await
    }

    async fn head(&self, key: &str) -> Result<Option<ObjectInfo>, StoreError> {
        let _place = self.place(key, StoreOp::Head).await?;
        self.inner.head(key).await
    }

    async fn delete(&self, key: &str) -> Result<(), StoreError> {
        let _place = self.place(key, StoreOp::Delete).await?;
        self.inner.delete(key).await
    }

    async fn delete_many(&self, keys: &[String]) -> Result<(), StoreError> {
        let _place = self.place("", StoreOp::Delete).await?;
        self.inner.delete_many(keys).await
    }

    fn keys_per_delete(&self) -> usize {
        self.inner.keys_per_delete()
    }

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>, StoreError> {
        let _place = self.place(prefix, StoreOp::List).await?;
        self.inner.list(prefix).await
    }

    async fn list_page(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<ObjectInfo>, StoreError> {
        let _place = self.place(prefix, StoreOp::List).await?;
        self.inner.list_page(prefix, after, limit).await
    }

    async fn adopt(&self, disk: &dyn Disk, path: &str, key: &str) -> Result<Adopted, StoreError> {
        let _place = self.place(key, StoreOp::Adopt).await?;
        self.inner.adopt(disk, path, key).await
    }
}
