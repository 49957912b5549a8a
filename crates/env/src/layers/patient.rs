//! A store with time limits and second attempts: owns both. Guarantees that every request ends, and that what reads, lists,
//! deletes or plainly puts is tried again within its bounds. Never repeats a create, a swap or an adoption (P8, P13).

use std::future::Future;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use super::retry::Retry;
use crate::{Adopted, Clock, Disk, ObjectInfo, Random, Store, StoreError, StoreOp, Tag, timeout};

/// A request that moves bytes is given the time to move them at this rate on top of its limit, in bytes per second.
const SLOWEST_RATE: u64 = 1 << 20;

/// How long a store is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// The limit of one attempt, besides the time for its bytes at 1 MiB/s where their number is known.
    pub timeout: Duration,
    /// The attempts of requests that may be repeated.
    pub retry: Retry,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience { timeout: Duration::from_secs(30), retry: Retry::default() }
    }
}

/// A store that is waited for.
pub struct Patient {
    inner: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    patience: Patience,
}

/// One request, for its limits and errors.
#[derive(Clone, Copy)]
struct Request<'a> {
    op: StoreOp,
    key: &'a str,
    /// Bytes to move, as far as known.
    bytes: u64,
}

impl Patient {
    /// `inner`, waited for so long.
    pub fn new(
        inner: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
        patience: Patience,
    ) -> Patient {
        Patient { inner, clock, random, patience }
    }

    /// One attempt.
    async fn once<T>(
        &self,
        request: Request<'_>,
        attempt: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let limit = self.patience.timeout + Duration::from_secs(request.bytes / SLOWEST_RATE);
        match timeout(&*self.clock, limit, attempt).await {
            Ok(answer) => answer,
            Err(_) => Err(StoreError::TimedOut { key: request.key.to_owned(), op: request.op, after: limit }),
        }
    }

    /// Attempts until one has an answer or there were enough.
    async fn repeated<T, F>(
        &self,
        request: Request<'_>,
        mut attempt: impl FnMut() -> F,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let mut made = 0;
        loop {
            let answer = self.once(request, attempt()).await;
            made += 1;
            let Err(error) = &answer else { return answer };
            let Some(wait) = self.patience.retry.wait(made, error, &*self.random) else { return answer };
            tracing::debug!(%error, attempt = made, ?wait, "a request to the store is tried again");
            self.clock.sleep(wait).await;
        }
    }
}

#[async_trait]
impl Store for Patient {
    async fn put_if_absent(&self, key: &str, body: Bytes) -> Result<(), StoreError> {
        // P8: the outcome of the first attempt decides whether there is a second, and only the caller can find it out.
        let request = Request { op: StoreOp::Put, key, bytes: body.len() as u64 };
        self.once(request, self.inner.put_if_absent(key, body)).await
    }

    async fn put(&self, key: &str, body: Bytes) -> Result<(), StoreError> {
        let request = Request { op: StoreOp::Put, key, bytes: body.len() as u64 };
        self.repeated(request, || self.inner.put(key, body.clone())).await
    }

    async fn swap(&self, key: &str, body: Bytes, expected: &Tag) -> Result<Tag, StoreError> {
        let request = Request { op: StoreOp::Swap, key, bytes: body.len() as u64 };
        self.once(request, self.inner.swap(key, body, expected)).await
    }

    async fn get(&self, key: &str) -> Result<Bytes, StoreError> {
        let request = Request { op: StoreOp::Get, key, bytes: 0 };
        self.repeated(request, || self.inner.get(key)).await
    }

    async fn get_range(&self, key: &str, range: Range<u64>) -> Result<Bytes, StoreError> {
        let request = Request { op: StoreOp::Get, key, bytes: range.end.saturating_sub(range.start) };
        self.repeated(request, || self.inner.get_range(key, range.clone())).await
    }

    async fn get_ranges(&self, key: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>, StoreError> {
        let bytes = match (ranges.first(), ranges.last()) {
            (Some(first), Some(last)) => last.end.saturating_sub(first.start),
            _ => 0,
        };
        let request = Request { op: StoreOp::Get, key, bytes };
        self.repeated(request, || self.inner.get_ranges(key, ranges)).await
    }

    async fn head(&self, key: &str) -> Result<Option<ObjectInfo>, StoreError> {
        let request = Request { op: StoreOp::Head, key, bytes: 0 };
        self.repeated(request, || self.inner.head(key)).await
    }

    async fn delete(&self, key: &str) -> Result<(), StoreError> {
        let request = Request { op: StoreOp::Delete, key, bytes: 0 };
        self.repeated(request, || self.inner.delete(key)).await
    }

    async fn delete_many(&self, keys: &[String]) -> Result<(), StoreError> {
        for some in keys.chunks(self.inner.keys_per_delete()) {
            let key = some.first().map_or("", String::as_str);
            let request = Request { op: StoreOp::Delete, key, bytes: 0 };
            self.repeated(request, || self.inner.delete_many(some)).await?;
        }
        Ok(())
    }

    fn keys_per_delete(&self) -> usize {
        self.inner.keys_per_delete()
    }

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>, StoreError> {
        // A listing has as many requests as it has pages, which a limit on all of them together would cut off.
        let mut found: Vec<ObjectInfo> = Vec::new();
        loop {
            let after = found.last().map(|object| object.key.clone());
            let page = self.list_page(prefix, after.as_deref(), LIST_PAGE).await?;
            let full = page.len() == LIST_PAGE;
            found.extend(page);
            if !full {
                return Ok(found);
            }
        }
    }

    async fn list_page(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<ObjectInfo>, StoreError> {
        let request = Request { op: StoreOp::List, key: prefix, bytes: 0 };
        self.repeated(request, || self.inner.list_page(prefix, after, limit)).await
    }

    async fn adopt(&self, disk: &dyn Disk, path: &str, key: &str) -> Result<Adopted, StoreError> {
        // P13: an id whose upload has no known outcome is not used again, so there is no second attempt under it.
        let bytes = disk.len(path).await.map_err(|error| crate::store::adopt_error(key, error))?;
        let request = Request { op: StoreOp::Adopt, key, bytes };
        self.once(request, self.inner.adopt(disk, path, key)).await
    }
}

/// Keys of one page of a listing of everything.
const LIST_PAGE: usize = 10_000;
