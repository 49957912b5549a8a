//! How far a reader in sequence is read ahead of, and in which requests: pure. Guarantees that what is on its way stays
//! within the window, and that requests have their full size unless an object ends. Never knows a cache: it is told what is
//! there.

use std::ops::Range;

use kelda_format::Offset;
use kelda_format::object::Extent;

use super::plan;
use super::sequence::Goal;

/// A walk over the references ahead of a reader, in the order of their offsets.
#[derive(Debug)]
pub(super) struct Lead {
    window: u64,
    /// Bytes of a request.
    unit: u64,
    /// Bytes between the reader and what was looked at last.
    distance: u64,
    /// Everything before it is fetched, or on its way.
    fetched: Offset,
    full: bool,
}

impl Lead {
    pub(super) fn new(goal: Goal) -> Lead {
        let Goal { window, fetched } = goal;
        // At least two requests on their way, so that one comes while the other is read.
        let unit = (window / 2).clamp(1, plan::REQUEST_BYTES);
        Lead { window, unit, distance: 0, fetched, full: false }
    }

    /// Whether what follows may still be in the window.
    pub(super) fn wants_more(&self) -> bool {
        !self.full && self.distance < self.window
    }

    /// Bytes of a request.
    pub(super) fn unit(&self) -> u64 {
        self.unit
    }

    /// Everything before it is fetched, or on its way.
    pub(super) fn fetched(&self) -> Offset {
        self.fetched
    }

    /// Passes the `bytes` from `at` to `end` in an object whose index is not there. Whether to fetch that now, with as much
    /// of the pages as one request brings: the rest is requested once the index is there.
    pub(super) fn start(&mut self, at: Offset, end: Offset, bytes: u64) -> bool {
        self.distance += bytes;
        let whole = bytes <= self.unit;
        self.full |= !whole;
        let new = self.fetched <= at;
        if new {
            self.fetched = if whole { end } else { at.plus(1) };
        }
        new
    }

    /// The next request for extents from `at` on and before `last`; then goes on at its end. `known` are those which are
    /// there or on their way.
    pub(super) fn request(
        &mut self,
        extents: &[Extent],
        at: &mut usize,
        last: usize,
        known: impl Fn(usize) -> bool,
    ) -> Option<Range<usize>> {
        while *at < last && self.wants_more() {
            let extent = &extents[*at];
            if extent.end <= self.fetched || known(*at) {
                self.distance += u64::from(extent.length);
                *at += 1;
                continue;
            }
            let end = plan::reach(extents, *at, self.unit).min(last);
            let end = (*at + 1..end).find(|extent| known(*extent)).unwrap_or(end);
            let bytes: u64 = extents[*at..end].iter().map(|extent| u64::from(extent.length)).sum();
            if self.distance + bytes > self.window && self.distance > 0 {
                self.full = true;
                return None;
            }
            self.distance += bytes;
            let request = *at..end;
            *at = end;
            return Some(request);
        }
        None
    }

    /// The request that ends at `end` is on its way.
    pub(super) fn sent(&mut self, end: Offset) {
        self.fetched = self.fetched.max(end);
    }

    /// There is no room for more.
    pub(super) fn stop(&mut self) {
        self.full = true;
    }
}
