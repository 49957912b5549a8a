//! The footer of an object: owns the last bytes of the file, guarantees that the index it points to lies inside
//! the file, never decodes the index.

use crate::ids::{ClusterId, NodeId, SessionEpoch, SessionId};
use crate::limits::MAX_INDEX_BYTES;
use crate::wal::EntryContext;
use crate::wire::{DecodeError, Fixed, Reader, crc};

/// Bytes of a footer; they are the last of the object.
pub const FOOTER_BYTES: usize = 88;

const MAGIC: [u8; 8] = *b"KELDAFTR";
/// Without summaries in the index.
const OLDEST: u16 = 1;
/// With summaries in the index.
const SUMMARISED: u16 = 2;
const SEGMENT: u8 = 1;
const PACKED: u8 = 2;

/// The two kinds of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    /// A WAL segment with an index behind it.
    Segment,
    /// Blocks, ordered by stream and offset.
    Packed,
}

/// What is needed to read the records of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectSource {
    /// The context of a segment's entries.
    Segment(EntryContext),
    /// The cluster of a packed object's blocks.
    Packed(ClusterId),
}

impl ObjectSource {
    /// Which kind of object it is.
    #[must_use]
    pub fn kind(&self) -> ObjectKind {
        match self {
            ObjectSource::Segment(_) => ObjectKind::Segment,
            ObjectSource::Packed(_) => ObjectKind::Packed,
        }
    }

    /// Whose records these are.
    #[must_use]
    pub fn cluster(&self) -> ClusterId {
        match self {
            ObjectSource::Segment(context) => context.cluster,
            ObjectSource::Packed(cluster) => *cluster,
        }
    }
}

/// The last bytes of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footer {
    /// Kind and context.
    pub source: ObjectSource,
    /// Where the index begins, in bytes.
    pub index_position: u64,
    /// Bytes of the index.
    pub index_len: u32,
    /// CRC-32C of the index.
    pub index_crc: u32,
    /// Records of all streams.
    pub records: u64,
    /// Whether the index has summaries behind its extents.
    pub summarised: bool,
}

impl Footer {
    /// The encoding.
    #[must_use]
    pub fn encode(&self) -> [u8; FOOTER_BYTES] {
        let (kind, session, salt) = match self.source {
            ObjectSource::Segment(context) => (SEGMENT, context.session, context.salt),
            ObjectSource::Packed(_) => (PACKED, SessionId { node: NodeId(0), epoch: SessionEpoch(0) }, 0),
        };
        let mut out = Fixed::new(&MAGIC);
        out.u16(if self.summarised { SUMMARISED } else { OLDEST });
        out.u8(kind);
        out.zeros(5);
        out.bytes(&self.source.cluster().0);
        for field in [session.node.0, session.epoch.0, salt, self.index_position] {
            out.u64(field);
        }
        out.u32(self.index_len);
        out.u32(self.index_crc);
        out.u64(self.records);
        out.zeros(4);
        out.finish(0)
    }

    /// Reads a footer: `bytes` are the last of an object of `object_len` bytes, at least [`FOOTER_BYTES`].
    ///
    /// # Errors
    /// When it is damaged, of a later version, or its index is not where it can be. Whether its cluster is the
    /// right one is for the caller.
    pub fn decode(bytes: &[u8], object_len: u64) -> Result<Footer, DecodeError> {
        const WHAT: &str = "object footer";
        let start = bytes.len().checked_sub(FOOTER_BYTES).ok_or_else(|| {
            DecodeError::new(WHAT, 0, format!("{} bytes, {FOOTER_BYTES} needed", bytes.len()))
        })?;
        let whole = &bytes[start..];
        let mut reader = Reader::new(whole, WHAT);
        if reader.array::<8>()? != MAGIC {
            return Err(reader.error("no object ends here"));
        }
        let summarised = reader.version_u16_from(OLDEST, SUMMARISED)? == SUMMARISED;
        let (summed, sum) = whole.split_at(FOOTER_BYTES - 4);
        if crc(summed).to_le_bytes() != sum {
            return Err(reader.error("checksum mismatch"));
        }
        let kind = reader.u8()?;
        reader.zeros(5)?;
        let cluster = ClusterId(reader.array()?);
        let session = SessionId { node: NodeId(reader.u64()?), epoch: SessionEpoch(reader.u64()?) };
        let salt = reader.u64()?;
        let source = match kind {
            SEGMENT => ObjectSource::Segment(EntryContext { cluster, session, salt }),
            PACKED if session.node.0 == 0 && session.epoch.0 == 0 && salt == 0 => {
                ObjectSource::Packed(cluster)
            }
            other => return Err(reader.error(format!("kind {other} or a session where none belongs"))),
        };
        let footer = Footer {
            source,
            index_position: reader.u64()?,
            index_len: reader.u32()?,
            index_crc: reader.u32()?,
            records: reader.u64()?,
            summarised,
        };
        reader.zeros(4)?;
        let end = footer.index_position.checked_add(u64::from(footer.index_len) + FOOTER_BYTES as u64);
        if end != Some(object_len) || footer.index_len as usize > MAX_INDEX_BYTES {
            return Err(reader.error(format!(
                "index of {} bytes at {} does not fit an object of {object_len} bytes",
                footer.index_len, footer.index_position
            )));
        }
        Ok(footer)
    }
}
