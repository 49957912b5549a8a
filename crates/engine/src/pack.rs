//! Packed objects in memory: owns which streams share an object and how the blocks of each lie in it. Guarantees that the
//! blocks of a stream follow one another, in the order of their offsets, and that small ones are joined. Never touches the
//! store, never reads the metadata.

use bytes::Bytes;
use kelda_format::limits::EXTENT_TARGET_BYTES;
use kelda_format::object::PackedWriter;
use kelda_format::{Block, ClusterId, Codec, StreamId};

/// Records of a joined block at most: a reader walks a block's metadata from its start.
const JOINED_RECORDS: u64 = 1024;

/// Bytes of a joined block at most: one page of a read.
const JOINED_BYTES: u64 = EXTENT_TARGET_BYTES / 2;

/// One packed object.
#[derive(Clone, Debug)]
pub(crate) struct Packed {
    /// Its bytes.
    pub(crate) body: Bytes,
    /// Its streams, with the bytes that the blocks of each take.
    pub(crate) streams: Vec<(StreamId, u64)>,
}

/// Which streams go into which object: one with at least `own_bytes` has an object of its own, the others share one. The
/// order within an object is that of `streams`.
pub(crate) fn share(
    streams: impl IntoIterator<Item = (StreamId, u64)>,
    own_bytes: u64,
) -> Vec<Vec<StreamId>> {
    let mut shared = Vec::new();
    let mut objects = Vec::new();
    for (stream, bytes) in streams {
        if bytes >= own_bytes {
            objects.push(vec![stream]);
        } else {
            shared.push(stream);
        }
    }
    if !shared.is_empty() {
        objects.push(shared);
    }
    objects
}

/// Packs the blocks of some streams, each with its blocks in the order of their offsets, into one object.
pub(crate) fn pack<'a>(
    cluster: ClusterId,
    codec: Codec,
    streams: impl IntoIterator<Item = (StreamId, &'a [Block])>,
) -> Packed {
    let mut writer = PackedWriter::new(cluster, codec);
    let mut packed = Vec::new();
    for (stream, blocks) in streams {
        let before = writer.byte_len();
        let mut rest = blocks;
        while !rest.is_empty() {
            let (run, later) = rest.split_at(run_len(rest));
            match Block::join(run).filter(|_| run.len() > 1) {
                Some(joined) => writer.push(&joined),
                None => run.iter().for_each(|block| writer.push(block)),
            }
            rest = later;
        }
        packed.push((stream, writer.byte_len() - before));
    }
    Packed { body: writer.finish().0, streams: packed }
}

/// How many of the first of `blocks` become one; at least one.
fn run_len(blocks: &[Block]) -> usize {
    let (mut bytes, mut records) = (0, 0);
    let fitting = blocks.iter().take_while(|block| {
        bytes += block.byte_len();
        records += u64::from(block.count());
        bytes <= JOINED_BYTES && records <= JOINED_RECORDS && block.summary().is_none()
    });
    fitting.count().max(1)
}

#[cfg(test)]
mod tests;
