//! Timestamp lookup in committed records: owns the way from the references of a view over the extents of one object
//! to one block. Guarantees that at most one page is read; never scans.

use kelda_format::{Offset, StreamId, Timestamp};
use kelda_meta::State;

use super::fetch::Fetching;
use super::{Keeping, ObjectError, ObjectReader, Source, plan};

impl ObjectReader {
    /// The first committed record of `stream` at or after `time`; nothing when all are before it.
    ///
    /// # Errors
    /// See [`ObjectError`].
    pub(crate) async fn find_time(
        &self,
        view: &State,
        stream: StreamId,
        time: Timestamp,
    ) -> Result<Option<Offset>, ObjectError> {
        let start = view.stream(stream).map_or(Offset::ZERO, |row| row.start);
        let mut row = view.ref_for_time(stream, time);
        while let Some(found) = row {
            // Times of a reference may be wider than its records, so its last one may still be before `time`.
            if found.first_timestamp >= time {
                return Ok(Some(found.base.max(start)));
            }
            let source = Source::of(view, found)?;
            let range = found.base.max(start)..found.end;
            if let Some(offset) = self.find_in_object(view, &source, range, time).await? {
                return Ok(Some(offset));
            }
            row = view.object_at(stream, found.end);
        }
        Ok(None)
    }

    /// The first record of `range` at or after `time`, all of `range` being in one object.
    async fn find_in_object(
        &self,
        view: &State,
        source: &Source,
        range: std::ops::Range<Offset>,
        time: Timestamp,
    ) -> Result<Option<Offset>, ObjectError> {
        let index = self.index(view.cluster(), source).await?;
        let extents = index.extents(source.stream);
        // Extents are in the order of offsets, and times never decrease.
        let at = extents.partition_point(|extent| extent.end <= range.start || extent.last_timestamp < time);
        let Some(extent) = extents.get(at).filter(|extent| extent.base < range.end) else { return Ok(None) };
        let found = if extent.first_timestamp >= time {
            extent.base
        } else {
            let groups = plan::groups(extents, at..at + 1);
            let pages = self.pages(source, &index, groups, &Fetching::new(Keeping::Pages)).await?;
            let blocks = pages.first().map_or(&[][..], |page| page.blocks());
            let at = blocks.partition_point(|block| block.last_timestamp() < time);
            blocks.get(at).map_or(extent.end, |block| block.find_time(time))
        };
        let found = found.max(range.start);
        Ok((found < range.end).then_some(found))
    }
}
