//! Pages: owns the requests that bring them, one per page however many readers wait, and several pages per request.
//! Guarantees that the bytes in flight are bounded over all readers. Never fetches for a page that is cached or on its way.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use futures::stream::{StreamExt, TryStreamExt};
use kelda_format::object::{Extent, ObjectIndex};
use tokio::sync::{OwnedSemaphorePermit, SemaphorePermit};

use super::load_cache::Begin;
use super::page::{Page, PageKey};
use super::{FETCHES_AT_ONCE, FLIGHT_UNIT, Keeping, ObjectError, ObjectReader, Source, plan};

/// How one read gets its pages.
#[derive(Debug)]
pub(super) struct Fetching {
    pub(super) keeping: Keeping,
    /// Whether something was not in the cache.
    waited: AtomicBool,
}

impl Fetching {
    pub(super) fn new(keeping: Keeping) -> Fetching {
        Fetching { keeping, waited: AtomicBool::new(false) }
    }

    pub(super) fn waited(&self) -> bool {
        self.waited.load(Ordering::Relaxed)
    }

    pub(super) fn wait(&self) {
        self.waited.store(true, Ordering::Relaxed);
    }
}

impl ObjectReader {
    /// The pages of `groups`, in order.
    pub(super) async fn pages(
        &self,
        source: &Source,
        index: &ObjectIndex,
        groups: Vec<Range<usize>>,
        fetching: &Fetching,
    ) -> Result<Vec<Page>, ObjectError> {
        let requests: Vec<_> = groups
            .into_iter()
            .map(|group| async move {
                match fetching.keeping {
                    Keeping::Pages => self.group(source, index, group, fetching).await,
                    Keeping::Nothing => self.group_uncached(source, index, group).await,
                }
            })
            .collect();
        let pages: Vec<Vec<Page>> =
            futures::stream::iter(requests).buffered(FETCHES_AT_ONCE).try_collect().await?;
        Ok(pages.into_iter().flatten().collect())
    }

    /// The pages of one group.
    async fn group(
        &self,
        source: &Source,
        index: &ObjectIndex,
        group: Range<usize>,
        fetching: &Fetching,
    ) -> Result<Vec<Page>, ObjectError> {
        let key = |extent| PageKey::of(source, extent);
        let mut pages = Vec::with_capacity(group.len());
        let mut at = group.start;
        while at < group.end {
            match self.pages.begin(key(at), (at + 1..group.end).map(key)) {
                Begin::Ready(page) => {
                    pages.push(page);
                    at += 1;
                }
                Begin::Wait(pending) => {
                    fetching.wait();
                    pending.ended().await;
                }
                Begin::Load(claim) => {
                    fetching.wait();
                    let claimed = &index.extents(source.stream)[at..at + claim.keys().len()];
                    let loaded = self.load_pages(source, index, claimed).await?;
                    pages.extend(loaded.iter().cloned());
                    at += loaded.len();
                    claim.fulfil(loaded.into_iter().map(Page::weighed));
                }
            }
        }
        Ok(pages)
    }

    /// The pages of one group, without adding any to the cache.
    async fn group_uncached(
        &self,
        source: &Source,
        index: &ObjectIndex,
        group: Range<usize>,
    ) -> Result<Vec<Page>, ObjectError> {
        let cached = |extent| self.pages.peek(PageKey::of(source, extent));
        let mut pages = Vec::with_capacity(group.len());
        while pages.len() < group.len() {
            let at = group.start + pages.len();
            if let Some(page) = cached(at) {
                pages.push(page);
                continue;
            }
            let end = (at + 1..group.end).find(|extent| cached(*extent).is_some()).unwrap_or(group.end);
            pages.extend(self.load_pages(source, index, &index.extents(source.stream)[at..end]).await?);
        }
        Ok(pages)
    }

    /// Fetches neighbouring extents with one request and decodes them.
    pub(super) async fn load_pages(
        &self,
        source: &Source,
        index: &ObjectIndex,
        extents: &[Extent],
    ) -> Result<Vec<Page>, ObjectError> {
        let _permit = self.flight(&plan::span(extents)).await;
        self.load_in_flight(source, index, extents).await
    }

    /// As [`ObjectReader::load_pages`], for a caller that has room for the bytes already.
    pub(super) async fn load_in_flight(
        &self,
        source: &Source,
        index: &ObjectIndex,
        extents: &[Extent],
    ) -> Result<Vec<Page>, ObjectError> {
        let ranges: Vec<_> =
            extents.iter().map(|it| it.position..it.position + u64::from(it.length)).collect();
        let parts = self.store.get_ranges(&source.key, &ranges).await;
        let parts = parts.map_err(|error| ObjectError::of_store(error, plan::span(extents).start))?;
        let mut pages = Vec::with_capacity(extents.len());
        for (extent, part) in extents.iter().zip(&parts) {
            pages.push(source.page(index, extent, part)?);
        }
        Ok(pages)
    }

    /// Bytes of an object, within the budget of what may be in flight.
    pub(super) async fn get(&self, source: &Source, range: Range<u64>) -> Result<Bytes, ObjectError> {
        let _permit = self.flight(&range).await;
        let position = range.start;
        self.store.get_range(&source.key, range).await.map_err(|error| ObjectError::of_store(error, position))
    }

    /// Room for the bytes of one request. The semaphore is never closed; if it were, going on without a permit would be
    /// right.
    async fn flight(&self, range: &Range<u64>) -> Option<SemaphorePermit<'_>> {
        self.in_flight.acquire_many(self.flight_units(range)).await.ok()
    }

    /// Room for the bytes of one request, if there is any now.
    pub(super) fn try_flight(&self, range: &Range<u64>) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.in_flight).try_acquire_many_owned(self.flight_units(range)).ok()
    }

    fn flight_units(&self, range: &Range<u64>) -> u32 {
        let units = (range.end - range.start).div_ceil(FLIGHT_UNIT).min(u64::from(self.in_flight_units));
        u32::try_from(units).unwrap_or(self.in_flight_units)
    }
}

impl Source {
    /// The page of `extent`, whose bytes are `bytes`.
    pub(super) fn page(
        &self,
        index: &ObjectIndex,
        extent: &Extent,
        bytes: &Bytes,
    ) -> Result<Page, ObjectError> {
        Page::decode(bytes, &index.source, self.stream, extent).map_err(|(at, detail)| {
            let Extent { base, end, position, .. } = extent;
            let detail = format!("{detail} (in what holds offsets {base} to {})", end.0.saturating_sub(1));
            self.damaged(position + at, detail)
        })
    }
}
