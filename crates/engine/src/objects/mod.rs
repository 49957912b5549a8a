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
mod lead;
mod load_cache;
mod page;
mod plan;
mod run;
mod sequence;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use futures::stream::{self, StreamExt};
use kelda_env::Store;
use kelda_format::keys::data_key;
use kelda_format::object::ObjectIndex;
use kelda_format::rows::{ObjectKind, ObjectRefRow};
use kelda_format::{Block, ObjectId, Offset, StreamId};
use kelda_meta::State;
use tokio::sync::Semaphore;

pub(crate) use error::ObjectError;
use fetch::Fetching;
use index::SegmentIndexes;
use load_cache::LoadCache;
pub(crate) use page::Page;
use page::PageKey;
use plan::Wish;
pub(crate) use run::Run;
use sequence::{Sequences, Step};

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
    /// An eighth of `cache_bytes` for indexes, a quarter for what is on its way, the rest for pages.
    pub(crate) fn within(cache_bytes: u64) -> ObjectReaderConfig {
        let (index_cache_bytes, in_flight_bytes) = (cache_bytes / 8, cache_bytes / 4);
        let page_cache_bytes = cache_bytes - index_cache_bytes - in_flight_bytes;
        ObjectReaderConfig { index_cache_bytes, page_cache_bytes, in_flight_bytes }
    }
}

/// Reads committed blocks. One per node; outlives sessions, since objects never change.
pub(crate) struct ObjectReader {
    store: Arc<dyn Store>,
    indexes: LoadCache<ObjectId, Arc<ObjectIndex>>,
    pages: LoadCache<PageKey, Page>,
    segment_indexes: SegmentIndexes,
    sequences: Sequences,
    in_flight: Arc<Semaphore>,
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
    /// How it is laid out, as the metadata says.
    pub(crate) kind: ObjectKind,
    /// How many references there are to it: about as many streams lie in it.
    pub(crate) streams: u32,
    /// Bytes of a record of the reference, about.
    pub(crate) record_bytes: u64,
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
            segment_indexes: SegmentIndexes::default(),
            // The cache keeps up to half of its bytes for pages that nobody read yet. They weigh more than what was asked
            // for, hence the room between.
            sequences: Sequences::new(config.page_cache_bytes / 8 * 3),
            in_flight: Arc::new(Semaphore::new(in_flight_units as usize)),
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
        let fetching = Fetching::new(Keeping::Pages);
        let blocks = self.read_as(view, stream, from, limit, &fetching).await?;
        if let Some(last) = blocks.last() {
            let (next, waited) = (last.end(), fetching.waited());
            let bytes = blocks.iter().map(Block::byte_len).sum();
            self.sequences.advance(Step { stream, from, next, bytes, waited });
        }
        Ok(blocks)
    }

    /// As [`ObjectReader::read`], for who reads much and only once: what is cached is used, and nothing is added to the
    /// cache of pages. Bytes in flight are bounded together with those of all readers.
    ///
    /// # Errors
    /// See [`ObjectError`].
    pub(crate) async fn read_uncached(
        &self,
        view: &State,
        stream: StreamId,
        from: Offset,
        limit: &ReadLimit,
    ) -> Result<Vec<Block>, ObjectError> {
        self.read_as(view, stream, from, limit, &Fetching::new(Keeping::Nothing)).await
    }

    async fn read_as(
        &self,
        view: &State,
        stream: StreamId,
        from: Offset,
        limit: &ReadLimit,
        fetching: &Fetching,
    ) -> Result<Vec<Block>, ObjectError> {
        let mut cut = Cut::new(from, limit);
        for _ in 0..STEPS_PER_READ {
            let rows = wanted_refs(view, stream, &cut);
            let ends: Vec<Offset> = rows.iter().map(|(row, _)| row.end).collect();
            let fetches: Vec<_> =
                rows.into_iter().map(|(row, wish)| self.read_ref(view, row, wish, fetching)).collect();
            let mut found = stream::iter(fetches).buffered(FETCHES_AT_ONCE).zip(stream::iter(ends));
            let mut progress = false;
            while let Some((pages, end)) = found.next().await {
                match pages {
                    Ok(pages) => pages.iter().for_each(|page| {
                        page.blocks_from(cut.next()).iter().for_each(|block| cut.push(block, end));
                    }),
                    Err(error) if cut.is_empty() => return Err(error),
                    // What was read is an answer by itself, so a fault behind it is for the next read to report.
                    Err(_) => return Ok(cut.finish()),
                }
                progress = true;
                // More lies in this one than was thought.
                if cut.next() < end {
                    break;
                }
            }
            if !progress {
                break;
            }
        }
        Ok(cut.finish())
    }

    /// The pages that hold what is wanted of one reference.
    async fn read_ref(
        &self,
        view: &State,
        row: &ObjectRefRow,
        wish: Wish,
        fetching: &Fetching,
    ) -> Result<Vec<Page>, ObjectError> {
        let source = Source::of(view, row)?;
        let index = self.index(view.cluster(), &source).await?;
        let extents = index.extents(source.stream);
        let wanted = plan::wanted(extents, &wish).ok_or_else(|| source.lacks(wish.from))?;
        self.pages(&source, &index, plan::groups(extents, wanted), fetching).await
    }
}

/// The references from the next offset of `cut` on in which lies what it wants, as far as their sizes tell, and what of
/// each. At most so many as are fetched at the same time; none when it wants no more or the view has no more.
fn wanted_refs<'a>(view: &'a State, stream: StreamId, cut: &Cut) -> Vec<(&'a ObjectRefRow, Wish)> {
    let mut rows: Vec<(&ObjectRefRow, Wish)> = Vec::new();
    if !cut.wants_more() {
        return rows;
    }
    let mut next = view.object_at(stream, cut.next()).map(|row| (row, Wish::of(cut, row.end)));
    while let Some((row, wish)) = next {
        rows.push((row, wish));
        if rows.len() == FETCHES_AT_ONCE {
            break;
        }
        next = view.object_at(stream, row.end).and_then(|behind| {
            // Part of the first may lie before what is wanted, so that more than thought is wanted of the others; what is
            // missing then comes with the next step.
            wish.after(row.bytes, cut.until(), row.end, behind.end).map(|wish| (behind, wish))
        });
    }
    rows
}

impl Source {
    fn of(view: &State, row: &ObjectRefRow) -> Result<Source, ObjectError> {
        let key = data_key(view.cluster(), row.object);
        match view.object(row.object) {
            Some(object) => Ok(Source {
                object: row.object,
                key,
                len: object.bytes,
                stream: row.source,
                kind: object.kind,
                streams: object.refs,
                record_bytes: row.bytes / row.end.since(row.base).max(1),
            }),
            None => Err(ObjectError::Missing { key }),
        }
    }

    /// An object of which nothing but its length is known.
    pub(crate) fn unknown(object: ObjectId, key: &str, len: u64) -> Source {
        let (stream, kind, key) = (StreamId(0), ObjectKind::Packed, key.to_owned());
        Source { object, key, len, stream, kind, streams: 1, record_bytes: 1 }
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
