//! Packed objects: owns their header and the writing of blocks one after the other, guarantees that the result
//! is a complete object, never decides which blocks belong together.

use bytes::Bytes;

use super::{IndexBuilder, ObjectIndex, ObjectSource};
use crate::block::Block;
use crate::codec::Codec;
use crate::ids::ClusterId;
use crate::wire::{DecodeError, Fixed, Reader, crc};

/// Bytes of a packed object's header; the first block follows directly.
pub const OBJECT_HEADER_BYTES: usize = 40;

const MAGIC: [u8; 8] = *b"KELDAOBJ";
const VERSION: u16 = 1;

/// The header of a packed object.
#[must_use]
pub fn encode_object_header(cluster: ClusterId) -> [u8; OBJECT_HEADER_BYTES] {
    let mut out = Fixed::new(&MAGIC);
    out.u16(VERSION);
    out.zeros(6);
    out.bytes(&cluster.0);
    out.zeros(4);
    out.finish(0)
}

/// Reads the header at the beginning of a packed object; returns whose it is.
///
/// # Errors
/// When it is damaged or of a later version.
pub fn decode_object_header(bytes: &[u8]) -> Result<ClusterId, DecodeError> {
    let mut reader = Reader::new(bytes, "object header");
    let whole = reader.clone().take(OBJECT_HEADER_BYTES)?;
    if reader.array::<8>()? != MAGIC {
        return Err(reader.error("no packed object begins here"));
    }
    reader.version_u16(VERSION)?;
    let (summed, sum) = whole.split_at(OBJECT_HEADER_BYTES - 4);
    if crc(summed).to_le_bytes() != sum {
        return Err(reader.error("checksum mismatch"));
    }
    reader.zeros(6)?;
    let cluster = ClusterId(reader.array()?);
    reader.zeros(4)?;
    Ok(cluster)
}

/// Writes a packed object, whole or piece by piece.
#[derive(Debug)]
pub struct PackedWriter {
    cluster: ClusterId,
    codec: Codec,
    /// Bytes that were handed out already.
    taken: u64,
    out: Vec<u8>,
    index: IndexBuilder,
}

impl PackedWriter {
    /// An object without blocks; those that come are compressed with `codec` where that is smaller.
    #[must_use]
    pub fn new(cluster: ClusterId, codec: Codec) -> PackedWriter {
        let out = encode_object_header(cluster).to_vec();
        PackedWriter { cluster, codec, taken: 0, out, index: IndexBuilder::new() }
    }

    /// Adds a block. Those of one stream come one after the other, in the order of their offsets.
    pub fn push(&mut self, block: &Block) {
        let position = self.byte_len();
        let length = block.encode_into(&mut self.out, self.cluster, self.codec);
        self.index.add(block, position, length as u64);
    }

    /// Bytes written so far, index and footer not included.
    #[must_use]
    pub fn byte_len(&self) -> u64 {
        self.taken + self.out.len() as u64
    }

    /// Bytes that were written and not handed out.
    #[must_use]
    pub fn held(&self) -> usize {
        self.out.len()
    }

    /// Hands out what was written since the last call, so that it need not be held until the object is complete.
    #[must_use]
    pub fn take_written(&mut self) -> Bytes {
        let out = std::mem::take(&mut self.out);
        self.taken += out.len() as u64;
        out.into()
    }

    /// Completes the object. The bytes are those that were not handed out, all of them if nothing was.
    #[must_use]
    pub fn finish(self) -> (Bytes, ObjectIndex) {
        let position = self.byte_len();
        let PackedWriter { cluster, mut out, index, .. } = self;
        let index = index.finish(ObjectSource::Packed(cluster));
        let trailer = index.encode_trailer(position);
        out.extend_from_slice(&trailer);
        (out.into(), index)
    }
}
