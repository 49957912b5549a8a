//! Building an index while an object is written: owns the joining of neighbouring blocks into extents,
//! guarantees that what it builds decodes, never sees the bytes.

use std::collections::BTreeMap;

use super::{Extent, FOOTER_BYTES, ObjectIndex, ObjectSource, StreamIndex, Summaries};
use crate::block::Block;
use crate::ids::StreamId;
use crate::limits::{EXTENT_GAP_BYTES, EXTENT_TARGET_BYTES};
use crate::summary::Summary;
use crate::wal::{Section, StreamSection};

/// At most so many bytes of a trailer (index and footer) are there before anything is indexed.
pub const INDEX_FIXED_MAX_BYTES: u64 = 10 + FOOTER_BYTES as u64;

/// At most so many bytes a stream adds to a trailer, its extents apart: two varints, and what is known of its summaries.
pub const INDEX_STREAM_MAX_BYTES: u64 = 21;

/// At most so many bytes an extent adds to a trailer, its summary apart: six varints.
pub const INDEX_EXTENT_MAX_BYTES: u64 = 60;

/// Collects extents while a segment or a packed object is written.
#[derive(Clone, Debug, Default)]
pub struct IndexBuilder {
    streams: BTreeMap<StreamId, (Vec<Extent>, Vec<Option<Summary>>)>,
}

impl IndexBuilder {
    /// Nothing indexed yet.
    #[must_use]
    pub fn new() -> IndexBuilder {
        IndexBuilder::default()
    }

    /// Adds a block's records, which lie in `length` bytes at `position` (of a segment: the whole entry).
    /// Blocks of one stream come in the order of their offsets.
    ///
    /// # Panics
    /// When they do not, or a position or length is not a multiple of 8.
    pub fn add(&mut self, block: &Block, position: u64, length: u64) {
        self.add_summed(
            block.stream(),
            Extent {
                base: block.base(),
                end: block.end(),
                first_timestamp: block.first_timestamp(),
                last_timestamp: block.last_timestamp(),
                position,
                length: u32::try_from(length).expect("entry above 4 GiB"),
            },
            Summary::of(block),
        );
    }

    /// Adds the records of a WAL entry that begins at `position` and is `length` bytes long.
    pub fn add_entry(&mut self, sections: &[StreamSection], position: u64, length: u64) {
        for section in sections {
            if let Section::Records(block) = &section.section {
                self.add(block, position, length);
            }
        }
    }

    /// Adds an extent, joined to the stream's last one where that pays. Nothing is known of its values.
    ///
    /// # Panics
    /// As [`IndexBuilder::add`].
    pub fn add_range(&mut self, stream: StreamId, extent: Extent) {
        self.add_summed(stream, extent, None);
    }

    fn add_summed(&mut self, stream: StreamId, extent: Extent, summary: Option<Summary>) {
        assert!(
            (extent.position | u64::from(extent.length)).is_multiple_of(8) && extent.length > 0,
            "extent of {} bytes at {}",
            extent.length,
            extent.position
        );
        assert!(extent.base < extent.end, "extent without records");
        let (extents, summaries) = self.streams.entry(stream).or_default();
        let Some(last) = extents.last_mut() else {
            extents.push(extent);
            summaries.push(summary);
            return;
        };
        assert!(
            last.end <= extent.base,
            "offsets of {stream} run backwards from {} to {}",
            last.end,
            extent.base
        );
        let last_end = last.position + u64::from(last.length);
        let joined = (extent.position + u64::from(extent.length)).saturating_sub(last.position);
        if last.end == extent.base
            && last.position <= extent.position
            && extent.position.saturating_sub(last_end) <= EXTENT_GAP_BYTES
            && joined <= EXTENT_TARGET_BYTES
        {
            last.end = extent.end;
            last.last_timestamp = extent.last_timestamp.max(last.last_timestamp);
            last.length = u32::try_from(joined).expect("bounded by the target").max(last.length);
            if let Some(last) = summaries.last_mut() {
                *last = last.take().zip(summary).and_then(|(last, more)| last.and(&more));
            }
        } else {
            extents.push(extent);
            summaries.push(summary);
        }
    }

    /// Whether nothing was added.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }

    /// The index of what was added.
    #[must_use]
    pub fn finish(self, source: ObjectSource) -> ObjectIndex {
        let streams = self.streams.into_iter().map(|(stream, (extents, summaries))| {
            let summaries = Summaries::new(summaries);
            StreamIndex { stream, extents, summaries }
        });
        let streams = streams.collect();
        ObjectIndex { source, streams }
    }
}
