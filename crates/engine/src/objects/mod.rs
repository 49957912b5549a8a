//! Reads of committed records from the object store: owns the caches of object indexes and of pages. Guarantees
//! that the object which holds an offset is looked up in a view and never listed, that every block was verified
//! before it is handed out, that damage is reported with object and position and never skipped, and that what is
//! cached or in flight is bounded. Never writes, never sees what is not committed.
//!
//! A page is an extent of an object's index: the unit of caching. Neighbouring pages come in one request.

mod ahead;
mod error;
mod fetch;
mod find_time;
mod index;
mod load_cache;
mod page;
mod plan;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use kelda_env::Store;
use kelda_format::keys::data_key;
use kelda_format::object::ObjectIndex;
use kelda_format::rows::ObjectRefRow;
use kelda_format::{Block, ObjectId, Offset, StreamId};
use kelda_meta::State;
use tokio::sync::Semaphore;

pub(crate) use error::ObjectError;
use load_cache::LoadCache;
pub(crate) use page::Page;
use page::PageKey;

use crate::cut::Cut;
use crate::types::ReadLimit;

/// Requests to the store that one read has in flight: enough to hide latency where a stream's extents lie apart.
const FETCHES_AT_ONCE: usize = 8;

/// How often one read goes to another range or object before it returns what it has, so that a stream of many
/// tiny objects cannot hold up one answer.
const STEPS_PER_READ: usize = 32;

/// Requests count their bytes in flight in units of this, since semaphores count in `u32`.
const FLIGHT_UNIT: u64 = 4096;

/// Bounds of the object reader.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObjectReaderConfig {
    /// Bytes of object indexes that are kept.
    pub(crate) index_cache_bytes: u64,
    /// Bytes of pages that are kept.
    pub(crate) page_cache_bytes: u64,
    /// Bytes that requests to the store may have in flight, all readers together; a larger request goes alone.
    pub(crate) in_flight_bytes: u64,
}

impl ObjectReaderConfig {
    /// A quarter of `cache_bytes` for indexes, the rest for pages, and as much again for what is on its way.
    pub(crate) fn within(cache_bytes: u64) -> ObjectReaderConfig {
        ObjectReaderConfig {
            index_cache_bytes: cache_bytes / 4,
            page_cache_bytes: cache_bytes - cache_bytes / 4,
            in_flight_bytes: cache_bytes,
        }
    }
}

/// Reads committed blocks. One per node; outlives sessions, since objects never change.
pub(crate) struct ObjectReader {
    store: Arc<dyn Store>,
    indexes: LoadCache<ObjectId, Arc<ObjectIndex>>,
    pages: LoadCache<PageKey, Page>,
    in_flight: Semaphore,
    in_flight_units: u32,
}

/// What becomes of pages that a read fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keeping {
    /// They are cached, and fetched once however many ask.
    Pages,
    /// They are handed to this read alone.
    Nothing,
}

/// The object behind a reference.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) object: ObjectId,
    pub(crate) key: String,
    /// Length of the object in bytes.
    pub(crate) len: u64,
    /// The stream under which the object knows the records.
    pub(crate) stream: StreamId,
}

impl ObjectReader {
    /// A reader of what is in `store`, with nothing cached.
    pub(crate) fn new(store: Arc<dyn Store>, config: ObjectReaderConfig) -> ObjectReader {
        let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        let (indexes, pages) = (size(config.index_cache_bytes), size(config.page_cache_bytes));
        let units = (config.in_flight_bytes / FLIGHT_UNIT).clamp(1, u64::from(u32::MAX >> 3));
        let in_flight_units = u32::try_from(units).unwrap_or(1);
        ObjectReader {
            store,
            indexes: LoadCache::new(indexes, indexes),
            pages: LoadCache::new(pages, pages / 4),
            in_flight: Semaphore::new(in_flight_units as usize),
            in_flight_units,
        }
    }

    /// Committed blocks of `stream` from `from` on, cut to `limit`; nothing when the view has nothing there. May
    /// return less than the limit allows, but at least one record when `from` is in an object of the view.
    ///
    /// # Errors
    /// See [`ObjectError`].
    pub(crate) async fn read(
        &self,
        view: &State,
        stream: StreamId,
        from: Offset,
        limit: &ReadLimit,
    ) -> Result<Vec<Block>, ObjectError> {
        self.read_as(view, stream, from, limit, Keeping::Pages).await
    }

    /// As [`ObjectReader::read`], for who reads much and only once: what is cached is used, and nothing is added to the
    /// cache of pages. Bytes in flight are bounded together with those of all readers.
    ///
    /// # Errors
    /// See [`ObjectError`].
    #[allow(dead_code, reason = "what rewrites objects comes to use it")]
    pub(crate) async fn read_uncached(
        &self,
        view: &State,
        stream: StreamId,
        from: Offset,
        limit: &ReadLimit,
    ) -> Result<Vec<Block>, ObjectError> {
        self.read_as(view, stream, from, limit, Keeping::Nothing).await
    }

    async fn read_as(
        &self,
        view: &State,
        stream: StreamId,
        from: Offset,
        limit: &ReadLimit,
        keeping: Keeping,
    ) -> Result<Vec<Block>, ObjectError> {
        let mut cut = Cut::new(from, limit);
        for _ in 0..STEPS_PER_READ {
            let row = if cut.wants_more() { view.object_at(stream, cut.next()) } else { None };
            let Some(row) = row else { break };
            let source = Source::of(view, row)?;
            self.read_ref(view, &source, row.end, &mut cut, keeping).await?;
        }
        Ok(cut.finish())
    }

    /// Gathers what is wanted of one reference, which ends at `end`.
    async fn read_ref(
        &self,
        view: &State,
        source: &Source,
        end: Offset,
        cut: &mut Cut,
        keeping: Keeping,
    ) -> Result<(), ObjectError> {
        let index = self.index(view.cluster(), source).await?;
        let extents = index.extents(source.stream);
        let wanted = plan::wanted(extents, cut, end).ok_or_else(|| source.lacks(cut.next()))?;
        let groups = plan::groups(extents, wanted);
        for page in self.pages(source, &index, extents, groups, keeping).await? {
            for block in page.blocks_from(cut.next()) {
                cut.push(block, end);
            }
        }
        Ok(())
    }
}

impl Source {
    fn of(view: &State, row: &ObjectRefRow) -> Result<Source, ObjectError> {
        let key = data_key(view.cluster(), row.object);
        match view.object(row.object) {
            Some(object) => Ok(Source { object: row.object, key, len: object.bytes, stream: row.source }),
            None => Err(ObjectError::Missing { key }),
        }
    }

    fn damaged(&self, position: u64, detail: impl ToString) -> ObjectError {
        ObjectError::Damaged { key: self.key.clone(), position, detail: detail.to_string() }
    }

    /// The index does not have what the metadata says is there.
    fn lacks(&self, offset: Offset) -> ObjectError {
        let detail = format!("its index has no offset {offset} of stream {}", self.stream);
        self.damaged(self.len, detail)
    }
}
