//! Where a filtered read goes on: owns the walk over extents by what their summaries say, without fetching any. Guarantees that
//! only extents that cannot hold a wanted record are passed, that what is not known is taken for wanted, and that one walk is
//! bounded. Never passes the end of what is committed.

use std::sync::Arc;

use futures::future::join_all;
use kelda_format::object::{Extent, ObjectIndex, Summaries};
use kelda_format::rows::ObjectRefRow;
use kelda_format::summary::Selection;
use kelda_format::{Offset, StreamId};
use kelda_meta::State;

use super::{FETCHES_AT_ONCE, ObjectError, ObjectReader, Source};
use crate::types::ReadLimit;

/// References that one walk looks at; then the caller comes again from where it got to.
const MAX_REFS: usize = 256;

/// What is to be read next for a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// Nothing wanted lies between where the walk began and here.
    pub(crate) from: Offset,
    /// Up to here, records may be wanted; `from` when the walk found none.
    pub(crate) until: Offset,
    /// Whether everything that was looked at may be wanted.
    pub(crate) whole: bool,
}

/// A walk that goes on.
#[derive(Debug)]
struct Walk<'a> {
    wanted: &'a Selection,
    /// Only records before this offset, and extents of this many bytes.
    until: Offset,
    bytes: u64,
    run: Run,
}

impl Walk<'_> {
    /// Takes in the extents of one reference that ends at `end`. False when the run is found.
    fn take(&mut self, extents: &[Extent], summaries: &Summaries, end: Offset) -> bool {
        let first = extents.partition_point(|extent| extent.end <= self.run.until);
        for (at, extent) in extents.iter().enumerate().skip(first) {
            if self.run.until >= self.until.min(end) || extent.base > self.run.until {
                // Where the index lacks something, the read that comes to it says so.
                break;
            }
            let extent_end = extent.end.min(end).min(self.until);
            let found = self.run.from < self.run.until;
            if self.wanted.may_want(summaries.of(at).as_ref()) {
                self.run.until = extent_end;
                self.bytes = self.bytes.saturating_sub(u64::from(extent.length));
            } else {
                self.run.whole = false;
                if found {
                    return false;
                }
                (self.run.from, self.run.until) = (extent_end, extent_end);
            }
            if self.bytes == 0 {
                return false;
            }
        }
        self.run.until == end && end < self.until
    }
}

impl ObjectReader {
    /// The next records from `from` on that may be wanted, as far as the objects of the view go and `limit` lets them be read
    /// at once.
    ///
    /// # Errors
    /// See [`ObjectError`]; only when nothing was passed before.
    pub(crate) async fn run(
        &self,
        view: &State,
        stream: StreamId,
        from: Offset,
        limit: &ReadLimit,
        wanted: &Selection,
    ) -> Result<Run, ObjectError> {
        let until = limit.until.unwrap_or(Offset(u64::MAX));
        let run = Run { from, until: from, whole: true };
        let mut walk = Walk { wanted, until, bytes: limit.max_bytes.max(1), run };
        // One index alone, then more and more at the same time while all is passed.
        let (mut looked, mut at_once) = (0, 1);
        while looked < MAX_REFS {
            let rows = refs_from(view, stream, walk.run.until, at_once);
            if rows.is_empty() {
                break;
            }
            looked += rows.len();
            at_once = (at_once * 2).min(FETCHES_AT_ONCE);
            let loads = rows.iter().map(|row| self.index_of(view, row));
            for (row, loaded) in rows.iter().zip(join_all(loads).await) {
                let (source, index) = match loaded {
                    Ok(found) => found,
                    Err(error) if walk.run.until == from => return Err(error),
                    Err(_) => return Ok(walk.run),
                };
                let (extents, summaries) = (index.extents(source.stream), index.summaries(source.stream));
                if !walk.take(extents, summaries, row.end) {
                    return Ok(walk.run);
                }
            }
        }
        Ok(walk.run)
    }

    async fn index_of(
        &self,
        view: &State,
        row: &ObjectRefRow,
    ) -> Result<(Source, Arc<ObjectIndex>), ObjectError> {
        let source = Source::of(view, row)?;
        let index = self.index(view.cluster(), &source).await?;
        Ok((source, index))
    }
}

/// The references from the one on that holds `from`, at most so many.
fn refs_from(view: &State, stream: StreamId, from: Offset, most: usize) -> Vec<ObjectRefRow> {
    let mut rows: Vec<ObjectRefRow> = Vec::new();
    let mut next = from;
    while rows.len() < most
        && let Some(row) = view.object_at(stream, next)
    {
        next = row.end;
        rows.push(*row);
    }
    rows
}
