//! A store whose requests are counted: owns the counts. Guarantees that one request of the caller counts for as many as the
//! store needs for it. Never counts what never left: a key that is refused, a range without bytes.

use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

use super::counts::{Outcome, StoreCounts};
use crate::{Adopted, Disk, ObjectInfo, Store, StoreError, StoreOp, Tag};

/// Keys that a store answers with one request of a listing.
const KEYS_PER_LIST: u64 = 1000;

/// A store whose requests are counted.
pub struct Counted {
    inner: Arc<dyn Store>,
    counts: Arc<StoreCounts>,
}

impl Counted {
    /// `inner`, with counts that begin at zero.
    pub fn new(inner: Arc<dyn Store>) -> Counted {
        Counted { inner, counts: Arc::default() }
    }

    /// The counts, which go on.
    #[must_use]
    pub fn counts(&self) -> Arc<StoreCounts> {
        Arc::clone(&self.counts)
    }

    fn begin(&self, op: StoreOp) -> Counting<'_> {
        Counting { counts: &self.counts, op, requests: 1, ended: false }
    }
}

/// A request that has not ended. Dropped, it counts as one whose sender went away.
struct Counting<'a> {
    counts: &'a StoreCounts,
    op: StoreOp,
    requests: u64,
    ended: bool,
}

impl Counting<'_> {
    fn end<T>(mut self, answer: &Result<T, StoreError>) {
        self.ended = true;
        match answer {
            Ok(_) => self.counts.add(self.op, Outcome::Ok, self.requests),
            Err(StoreError::BadKey { .. }) => {}
            Err(error) => self.counts.add(self.op, Outcome::of(error), self.requests),
        }
    }
}

impl Drop for Counting<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.counts.add(self.op, Outcome::GivenUp, self.requests);
        }
    }
}

#[async_trait]
impl Store for Counted {
    async fn put_if_absent(&self, key: &str, body: Bytes) -> Result<(), StoreError> {
        let (counting, len) = (self.begin(StoreOp::Put), body.len() as u64);
        let answer = self.inner.put_if_absent(key, body).await;
        counting.end(&answer);
        answer.inspect(|()| self.counts.add_written(len))
    }

    async fn put(&self, key: &str, body: Bytes) -> Result<(), StoreError> {
        let (counting, len) = (self.begin(StoreOp::Put), body.len() as u64);
        let answer = self.inner.put(key, body).await;
        counting.end(&answer);
        answer.inspect(|()| self.counts.add_written(len))
    }

    async fn swap(&self, key: &str, body: Bytes, expected: &Tag) -> Result<Tag, StoreError> {
        let (counting, len) = (self.begin(StoreOp::Swap), body.len() as u64);
        let answer = self.inner.swap(key, body, expected).await;
        counting.end(&answer);
        answer.inspect(|_| self.counts.add_written(len))
    }

    async fn get(&self, key: &str) -> Result<Bytes, StoreError> {
        let counting = self.begin(StoreOp::Get);
        let answer = self.inner.get(key).await;
        counting.end(&answer);
        answer.inspect(|bytes| self.counts.add_read(bytes.len() as u64))
    }

    async fn get_range(&self, key: &str, range: Range<u64>) -> Result<Bytes, StoreError> {
        if range.is_empty() {
            return self.inner.get_range(key, range).await;
        }
        let counting = self.begin(StoreOp::Get);
        let answer = self.inner.get_range(key, range).await;
        counting.end(&answer);
        answer.inspect(|bytes| self.counts.add_read(bytes.len() as u64))
    }

    async fn get_ranges(&self, key: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>, StoreError> {
        if ranges.is_empty() {
            return self.inner.get_ranges(key, ranges).await;
        }
        let counting = self.begin(StoreOp::Get);
        let answer = self.inner.get_ranges(key, ranges).await;
        counting.end(&answer);
        answer.inspect(|parts| self.counts.add_read(parts.iter().map(|part| part.len() as u64).sum()))
    }

    async fn head(&self, key: &str) -> Result<Option<ObjectInfo>, StoreError> {
        let counting = self.begin(StoreOp::Head);
        let answer = self.inner.head(key).await;
        match &answer {
            Ok(None) => counting.end::<()>(&Err(StoreError::NotFound { key: key.to_owned() })),
            answer => counting.end(answer),
        }
        answer
    }

    async fn delete(&self, key: &str) -> Result<(), StoreError> {
        let counting = self.begin(StoreOp::Delete);
        let answer = self.inner.delete(key).await;
        counting.end(&answer);
        answer
    }

    async fn delete_many(&self, keys: &[String]) -> Result<(), StoreError> {
        let mut counting = self.begin(StoreOp::Delete);
        counting.requests = keys.len().div_ceil(self.inner.keys_per_delete()) as u64;
        let answer = self.inner.delete_many(keys).await;
        counting.end(&answer);
        answer
    }

    fn keys_per_delete(&self) -> usize {
        self.inner.keys_per_delete()
    }

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>, StoreError> {
        let mut counting = self.begin(StoreOp::List);
        let answer = self.inner.list(prefix).await;
        counting.requests = list_requests(&answer);
        counting.end(&answer);
        answer
    }

    async fn list_page(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<ObjectInfo>, StoreError> {
        let mut counting = self.begin(StoreOp::List);
        let answer = self.inner.list_page(prefix, after, limit).await;
        counting.requests = list_requests(&answer);
        counting.end(&answer);
        answer
    }

    async fn adopt(&self, disk: &dyn Disk, path: &str, key: &str) -> Result<Adopted, StoreError> {
        let mut counting = self.begin(StoreOp::Adopt);
        let answer = self.inner.adopt(disk, path, key).await;
        if let Ok(Adopted::Pieces(requests)) = answer {
            counting.requests = requests.into();
        }
        counting.end(&answer);
        if matches!(answer, Ok(Adopted::Copied | Adopted::Pieces(_))) {
            // A length that cannot be told now is bytes that are not counted, and no failure.
            self.counts.add_written(disk.len(path).await.unwrap_or(0));
        }
        answer
    }
}

fn list_requests(answer: &Result<Vec<ObjectInfo>, StoreError>) -> u64 {
    answer.as_ref().map_or(1, |found| (found.len() as u64).div_ceil(KEYS_PER_LIST).max(1))
}
