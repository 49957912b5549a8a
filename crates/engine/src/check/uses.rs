//! What the metadata says of objects: pure. Owns the way from a place in an object to the records of streams, guarantees
//! that only records which a reader may ask for are named. Never reads an object.

use std::collections::BTreeMap;
use std::ops::Range;

use kelda_format::object::ObjectIndex;
use kelda_format::rows::ObjectRefRow;
use kelda_format::{ObjectId, Offset, StreamId};
use kelda_meta::State;

use super::finding::Affected;

/// The references of all streams, by object.
pub(super) struct Uses<'a> {
    view: &'a State,
    refs: BTreeMap<ObjectId, Vec<ObjectRefRow>>,
}

impl<'a> Uses<'a> {
    pub(super) fn of(view: &'a State) -> Uses<'a> {
        let mut refs: BTreeMap<ObjectId, Vec<ObjectRefRow>> = BTreeMap::new();
        for row in view.streams().flat_map(|stream| view.refs(stream.id)) {
            refs.entry(row.object).or_default().push(*row);
        }
        Uses { view, refs }
    }

    /// The references to an object.
    pub(super) fn refs(&self, object: ObjectId) -> &[ObjectRefRow] {
        self.refs.get(&object).map_or(&[], Vec::as_slice)
    }

    /// All records that are read from an object.
    pub(super) fn whole(&self, object: ObjectId) -> Vec<Affected> {
        self.refs(object).iter().filter_map(|row| self.part(row, row.base..row.end)).collect()
    }

    /// The records that are read from `range` of what the object knows as stream `source`.
    pub(super) fn records(&self, object: ObjectId, source: StreamId, range: Range<Offset>) -> Vec<Affected> {
        let rows = self.refs(object).iter().filter(|row| row.source == source);
        rows.filter_map(|row| self.part(row, range.clone())).collect()
    }

    /// What of `range` is read through a reference.
    fn part(&self, row: &ObjectRefRow, range: Range<Offset>) -> Option<Affected> {
        let start = self.view.stream(row.stream)?.start;
        let (from, to) = (row.base.max(range.start).max(start), row.end.min(range.end));
        (from < to).then_some(Affected { stream: row.stream, from, to: Some(to) })
    }
}

/// The first offset of a reference that an index does not have.
pub(super) fn lacking(index: &ObjectIndex, row: &ObjectRefRow) -> Option<Offset> {
    let mut next = row.base;
    for extent in index.extents(row.source) {
        if extent.base <= next && next < extent.end {
            next = extent.end;
        }
    }
    (next < row.end).then_some(next)
}
