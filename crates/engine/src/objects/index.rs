//! Object indexes: owns their loading (once, however many readers ask) from the end of the object. Guarantees that
//! an index belongs to the cluster and passed its checksum, and that one request brings it unless it is far larger than
//! those before; never keeps a failure.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use kelda_format::ClusterId;
use kelda_format::limits::EXTENT_TARGET_BYTES;
use kelda_format::object::{Extent, FOOTER_BYTES, Footer, ObjectIndex, StreamIndex};
use kelda_format::rows::ObjectKind;

use super::load_cache::Begin;
use super::page::{Page, PageKey};
use super::{ObjectError, ObjectReader, Source};

/// Bytes read from the end of an object at least: footer and, mostly, the whole index.
const TAIL_BYTES: u64 = 64 << 10;

/// Bytes read from the end of an object at most; a larger index takes another request.
const MAX_TAIL_BYTES: u64 = 4 << 20;

/// Bytes that an extent or a stream usually takes in an index.
const EXTENT_BYTES: u64 = 20;

/// Bytes that an entry of a segment has beside its records, at least.
const ENTRY_BYTES: u64 = 128;

/// How large indexes of segments are in which several streams lie: what cannot be told from the metadata.
#[derive(Debug, Default)]
pub(super) struct SegmentIndexes {
    /// Bytes of index a MiB, of the largest lately; 0 before the first.
    per_mib: AtomicU64,
}

impl SegmentIndexes {
    /// Twice what the largest would take, once one was seen.
    fn expected(&self, object_len: u64) -> Option<u64> {
        let per_mib = self.per_mib.load(Ordering::Relaxed);
        (per_mib > 0).then(|| per_mib.saturating_mul(2 * object_len.div_ceil(1 << 20)))
    }

    fn seen(&self, index_len: u64, object_len: u64) {
        let found = index_len.div_ceil(object_len.div_ceil(1 << 20).max(1));
        let before = self.per_mib.load(Ordering::Relaxed);
        // It shrinks slowly, so that one small index does not make the next large one cost two requests.
        self.per_mib.store(found.max(before - before.div_ceil(16)), Ordering::Relaxed);
    }
}

/// Bytes to read from the end of an object, so that its index is among them.
fn tail_bytes(source: &Source, lately: &SegmentIndexes) -> u64 {
    let pages = 2 * source.len / EXTENT_TARGET_BYTES;
    let extents = if source.is_mixed() {
        // Every entry may be an extent.
        let entries = source.len / (source.record_bytes + ENTRY_BYTES);
        lately.expected(source.len).map_or(entries, |bytes| entries.min(bytes / EXTENT_BYTES))
    } else {
        pages
    };
    let index = (extents + 2 * u64::from(source.streams)).saturating_mul(EXTENT_BYTES);
    (index + FOOTER_BYTES as u64).clamp(TAIL_BYTES, MAX_TAIL_BYTES).min(source.len)
}

impl Source {
    /// Whether entries of several streams lie between one another.
    fn is_mixed(&self) -> bool {
        self.kind == ObjectKind::Segment && self.streams > 1
    }
}

impl ObjectReader {
    /// The index of an object.
    pub(crate) async fn index(
        &self,
        cluster: ClusterId,
        source: &Source,
    ) -> Result<Arc<ObjectIndex>, ObjectError> {
        loop {
            match self.indexes.begin(source.object, std::iter::empty()) {
                Begin::Ready(index) => return Ok(index),
                Begin::Wait(pending) => pending.ended().await,
                Begin::Load(claim) => {
                    let (index, whole) = self.load_index(cluster, source).await?;
                    let index = Arc::new(index);
                    if let Some(whole) = whole {
                        self.take_pages(source, &index, &whole);
                    }
                    claim.fulfil([(Arc::clone(&index), weight(&index))]);
                    return Ok(index);
                }
            }
        }
    }

    /// The index, and the whole object where that is so small that it came along.
    async fn load_index(
        &self,
        cluster: ClusterId,
        source: &Source,
    ) -> Result<(ObjectIndex, Option<Bytes>), ObjectError> {
        let tail_at = source.len - tail_bytes(source, &self.segment_indexes);
        let tail = self.get(source, tail_at..source.len).await?;
        let footer_at = source.len.saturating_sub(FOOTER_BYTES as u64);
        let footer = Footer::decode(&tail, source.len).map_err(|error| source.damaged(footer_at, error))?;
        if footer.source.cluster() != cluster {
            let found = footer.source.cluster();
            return Err(source.damaged(footer_at, format!("it is of cluster {found}, not of {cluster}")));
        }
        let position = footer.index_position;
        let index_len = u64::from(footer.index_len);
        if source.is_mixed() {
            self.segment_indexes.seen(index_len, source.len);
        }
        let bytes = match position.checked_sub(tail_at) {
            // Inside the tail: the footer's position was checked against the object's length.
            Some(at) => tail.slice(at as usize..(at + index_len) as usize),
            None => self.get(source, position..position + index_len).await?,
        };
        let index = ObjectIndex::decode(&bytes, &footer)
            .map_err(|error| source.damaged(position + error.at, error))?;
        Ok((index, (tail_at == 0 && source.len <= TAIL_BYTES).then_some(tail)))
    }

    /// Keeps the pages of a stream of which all bytes are here. What is damaged is left to who asks for it.
    fn take_pages(&self, source: &Source, index: &ObjectIndex, whole: &Bytes) {
        for (at, extent) in index.extents(source.stream).iter().enumerate() {
            let Begin::Load(claim) = self.pages.begin(PageKey::of(source, at), std::iter::empty()) else {
                continue;
            };
            let from = usize::try_from(extent.position).unwrap_or(usize::MAX);
            let bytes = whole.get(from..).and_then(|rest| rest.get(..extent.length as usize));
            let Some(bytes) = bytes else { continue };
            // A copy: the page keeps no other bytes alive.
            if let Ok(page) = source.page(index, extent, &Bytes::copy_from_slice(bytes)) {
                claim.fulfil([page].map(Page::weighed));
            }
        }
    }
}

/// Bytes of memory an index takes.
fn weight(index: &ObjectIndex) -> usize {
    let extents: usize = index.streams.iter().map(|stream| stream.extents.len()).sum();
    let summaries: usize = index.streams.iter().map(|stream| stream.summaries.heap_bytes()).sum();
    let streams = index.streams.len() * size_of::<StreamIndex>();
    size_of::<ObjectIndex>() + streams + extents * size_of::<Extent>() + summaries
}
