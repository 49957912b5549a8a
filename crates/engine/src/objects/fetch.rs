//! Pages: owns the requests that bring them, one per page however many readers wait, several pages per request, and
//! readahead that grows while a stream is read in sequence. Guarantees that the bytes in flight are bounded over all
//! readers. Never fetches for a page that is cached or on its way.

use std::ops::Range;

use bytes::Bytes;
use futures::stream::{StreamExt, TryStreamExt};
use kelda_format::object::{Extent, ObjectIndex};
use tokio::sync::SemaphorePermit;

use super::load_cache::Begin;
use super::page::{Page, PageKey};
use super::{FETCHES_AT_ONCE, FLIGHT_UNIT, Keeping, ObjectError, ObjectReader, Source, plan};

impl ObjectReader {
    /// The pages of `groups`, in order.
    pub(super) async fn pages(
        &self,
        source: &Source,
        index: &ObjectIndex,
        extents: &[Extent],
        groups: Vec<Range<usize>>,
        keeping: Keeping,
    ) -> Result<Vec<Page>, ObjectError> {
        let requests: Vec<_> = groups
            .into_iter()
            .map(|group| async move {
                match keeping {
                    Keeping::Pages => self.group(source, index, extents, group).await,
                    Keeping::Nothing => self.group_uncached(source, index, extents, group).await,
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
        extents: &[Extent],
        group: Range<usize>,
    ) -> Result<Vec<Page>, ObjectError> {
        let key = |extent| PageKey { object: source.object, stream: source.stream, extent };
        let mut pages = Vec::with_capacity(group.len());
        let mut at = group.start;
        while at < group.end {
            let ahead = self.readahead(at.checked_sub(1).map(key));
            let wanted = plan::span(&extents[at..group.end]);
            let bytes = ahead.max(wanted.end - wanted.start).min(plan::REQUEST_BYTES);
            let reach = plan::reach(extents, at, bytes);
            match self.pages.begin(key(at), (at + 1..reach).map(key)) {
                Begin::Ready(page) => {
                    pages.push(page);
                    at += 1;
                }
                Begin::Wait(pending) => pending.ended().await,
                Begin::Load(claim) => {
                    let claimed = &extents[at..at + claim.keys().len()];
                    let loaded = self.load_pages(source, index, claimed).await?;
                    pages.extend(loaded.iter().take(group.end - at).cloned());
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
        extents: &[Extent],
        group: Range<usize>,
    ) -> Result<Vec<Page>, ObjectError> {
        let cached =
            |extent| self.pages.peek(PageKey { object: source.object, stream: source.stream, extent });
        let mut pages = Vec::with_capacity(group.len());
        while pages.len() < group.len() {
            let at = group.start + pages.len();
            if let Some(page) = cached(at) {
                pages.push(page);
                continue;
            }
            let end = (at + 1..group.end).find(|extent| cached(*extent).is_some()).unwrap_or(group.end);
            pages.extend(self.load_pages(source, index, &extents[at..end]).await?);
        }
        Ok(pages)
    }

    /// How much to fetch at least: twice what brought the page before, if that is still here.
    fn readahead(&self, previous: Option<PageKey>) -> u64 {
        previous.and_then(|key| self.pages.peek(key)).map_or(0, |page| page.request.saturating_mul(2))
    }

    /// Fetches neighbouring extents with one request and decodes them.
    pub(super) async fn load_pages(
        &self,
        source: &Source,
        index: &ObjectIndex,
        extents: &[Extent],
    ) -> Result<Vec<Page>, ObjectError> {
        let span = plan::span(extents);
        let ranges: Vec<_> =
            extents.iter().map(|it| it.position..it.position + u64::from(it.length)).collect();
        let _permit = self.flight(&span).await;
        let parts = self.store.get_ranges(&source.key, &ranges).await;
        let parts = parts.map_err(|error| ObjectError::of_store(error, span.start))?;
        let mut pages = Vec::with_capacity(extents.len());
        for (extent, part) in extents.iter().zip(&parts) {
            let page = Page::decode(part, &index.source, source.stream, extent, span.end - span.start)
                .map_err(|(at, detail)| {
                    let Extent { base, end, position, .. } = extent;
                    let detail =
                        format!("{detail} (in what holds offsets {base} to {})", end.0.saturating_sub(1));
                    source.damaged(position + at, detail)
                })?;
            pages.push(page);
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
        let units = (range.end - range.start).div_ceil(FLIGHT_UNIT).min(u64::from(self.in_flight_units));
        let units = u32::try_from(units).unwrap_or(self.in_flight_units);
        self.in_flight.acquire_many(units).await.ok()
    }
}
