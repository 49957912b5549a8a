//! The seal of an object WAL as bytes: owns what stands in the slot at which a session's log ends for good (P6), guarantees
//! that it is never taken for a slot with entries, never knows the store.

use crate::ids::{ClusterId, NodeId, SessionEpoch, SessionId};
use crate::wire::{DecodeError, Fixed, Reader, crc};

/// Bytes of a seal.
pub const SEAL_BYTES: usize = 88;

const MAGIC: [u8; 8] = *b"KELDASEA";

const VERSION: u16 = 1;

/// Ends the WAL of a session: nothing at or behind it was, or will be, acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seal {
    /// The cluster.
    pub cluster: ClusterId,
    /// Whose WAL ends.
    pub session: SessionId,
    /// The slot in which it stands.
    pub slot: u64,
    /// Who put it there.
    pub by: SessionId,
    /// Random, so that whoever put it knows it again (P8).
    pub nonce: u64,
}

impl Seal {
    /// The encoding.
    #[must_use]
    pub fn encode(&self) -> [u8; SEAL_BYTES] {
        let mut out = Fixed::new(&MAGIC);
        out.u16(VERSION);
        out.zeros(6);
        out.bytes(&self.cluster.0);
        let (session, by) = (self.session, self.by);
        for field in [session.node.0, session.epoch.0, self.slot, by.node.0, by.epoch.0, self.nonce] {
            out.u64(field);
        }
        out.zeros(4);
        out.finish(0)
    }

    /// Whether `bytes` begin as a seal does, whatever follows.
    #[must_use]
    pub fn is_one(bytes: &[u8]) -> bool {
        bytes.starts_with(&MAGIC)
    }

    /// Reads a seal. Whether it is of the right cluster, session and slot is for the caller.
    ///
    /// # Errors
    /// When it is damaged, of another length or of a later version.
    pub fn decode(bytes: &[u8]) -> Result<Seal, DecodeError> {
        let mut reader = Reader::new(bytes, "WAL seal");
        if reader.array::<8>()? != MAGIC {
            return Err(reader.error("no seal"));
        }
        reader.version_u16(VERSION)?;
        reader.zeros(6)?;
        let cluster = ClusterId(reader.array()?);
        let session = SessionId { node: NodeId(reader.u64()?), epoch: SessionEpoch(reader.u64()?) };
        let slot = reader.u64()?;
        let by = SessionId { node: NodeId(reader.u64()?), epoch: SessionEpoch(reader.u64()?) };
        let nonce = reader.u64()?;
        reader.zeros(4)?;
        let summed = &bytes[..reader.at()];
        if reader.u32()? != crc(summed) {
            return Err(reader.error("checksum mismatch"));
        }
        reader.finish()?;
        Ok(Seal { cluster, session, slot, by, nonce })
    }
}
