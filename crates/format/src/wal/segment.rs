//! The header of a WAL segment: owns its bytes, guarantees that one of another cluster does not decode, never
//! knows the file it stands in.

use super::EntryContext;
use crate::ids::{ClusterId, NodeId, SessionEpoch, SessionId};
use crate::wire::{DecodeError, Fixed, Reader, crc};

/// Bytes of a segment header; the first entry follows directly.
pub const SEGMENT_HEADER_BYTES: usize = 80;

pub(crate) const SEGMENT_MAGIC: [u8; 8] = *b"KELDASEG";

const VERSION: u16 = 1;

/// What stands before the entries of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentHeader {
    /// Cluster, session and salt that every entry of it shares.
    pub context: EntryContext,
    /// Which slot of the session's WAL it fills; the first is 0.
    pub number: u64,
    /// The first group written to it.
    pub first_group: u64,
}

impl SegmentHeader {
    /// The encoding.
    #[must_use]
    pub fn encode(&self) -> [u8; SEGMENT_HEADER_BYTES] {
        let mut out = Fixed::new(&SEGMENT_MAGIC);
        out.u16(VERSION);
        out.zeros(6);
        out.bytes(&self.context.cluster.0);
        let session = self.context.session;
        for field in [session.node.0, session.epoch.0, self.number, self.first_group, self.context.salt] {
            out.u64(field);
        }
        out.zeros(4);
        out.finish(0)
    }

    /// Reads a header at the beginning of `bytes`. Whether its cluster is the right one is for the caller.
    ///
    /// # Errors
    /// When it is damaged or of a later version.
    pub fn decode(bytes: &[u8]) -> Result<SegmentHeader, DecodeError> {
        let mut reader = Reader::new(bytes, "WAL segment header");
        let whole = reader.clone().take(SEGMENT_HEADER_BYTES)?;
        if reader.array::<8>()? != SEGMENT_MAGIC {
            return Err(reader.error("no WAL segment begins here"));
        }
        reader.version_u16(VERSION)?;
        let (summed, sum) = whole.split_at(SEGMENT_HEADER_BYTES - 4);
        if crc(summed).to_le_bytes() != sum {
            return Err(reader.error("checksum mismatch"));
        }
        reader.zeros(6)?;
        let cluster = ClusterId(reader.array()?);
        let session = SessionId { node: NodeId(reader.u64()?), epoch: SessionEpoch(reader.u64()?) };
        let (number, first_group, salt) = (reader.u64()?, reader.u64()?, reader.u64()?);
        reader.zeros(4)?;
        Ok(SegmentHeader { context: EntryContext { cluster, session, salt }, number, first_group })
    }
}
