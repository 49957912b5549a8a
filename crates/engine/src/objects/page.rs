//! A page: the verified blocks of one extent. Owns their decoding from a range of an object, guarantees that they
//! hold exactly the offsets that the index announces, never keeps bytes of other extents alive.

use std::sync::Arc;

use bytes::Bytes;
use kelda_format::object::{Extent, ObjectSource, walk_blocks};
use kelda_format::{Block, ObjectId, Offset, StreamId};

use super::Source;

/// What a page takes beside its blocks: its places in the maps of the cache.
const PAGE_OVERHEAD_BYTES: usize = 256;

/// Which extent of which stream of which object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PageKey {
    pub(crate) object: ObjectId,
    pub(crate) stream: StreamId,
    /// Position of the extent among those of the stream.
    pub(crate) extent: usize,
}

impl PageKey {
    /// An extent of the stream that is read of an object.
    pub(super) fn of(source: &Source, extent: usize) -> PageKey {
        PageKey { object: source.object, stream: source.stream, extent }
    }
}

/// The blocks of one extent. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    blocks: Arc<[Block]>,
    weight: usize,
}

impl Page {
    /// Decodes `bytes`, which are exactly `extent`.
    ///
    /// # Errors
    /// What is wrong, and at which byte of the extent.
    pub(crate) fn decode(
        bytes: &Bytes,
        source: &ObjectSource,
        stream: StreamId,
        extent: &Extent,
    ) -> Result<Page, (u64, String)> {
        let mut blocks = Vec::new();
        let mut next = extent.base;
        for block in walk_blocks(bytes, source, stream) {
            let block = block.map_err(|error| (error.at, error.to_string()))?;
            if block.base() != next {
                let detail = format!("a block of stream {stream} begins at {}, not at {next}", block.base());
                return Err((0, detail));
            }
            next = block.end();
            blocks.push(block);
        }
        if next != extent.end {
            let detail = format!("the blocks of stream {stream} end at {next}, not at {}", extent.end);
            return Err((0, detail));
        }
        // Blocks that were compressed have bytes of their own, the others share those of the extent.
        let decoded: u64 = blocks.iter().map(Block::byte_len).sum();
        let bytes = bytes.len().max(usize::try_from(decoded).unwrap_or(usize::MAX));
        let weight = bytes + blocks.len() * size_of::<Block>() + PAGE_OVERHEAD_BYTES;
        Ok(Page { blocks: blocks.into(), weight })
    }

    /// The blocks from the one that holds `offset` on.
    pub(crate) fn blocks_from(&self, offset: Offset) -> &[Block] {
        &self.blocks[self.blocks.partition_point(|block| block.end() <= offset)..]
    }

    /// All blocks.
    pub(crate) fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The page and the bytes of memory it takes, as a cache wants them.
    pub(crate) fn weighed(self) -> (Page, usize) {
        let weight = self.weight;
        (self, weight)
    }
}
