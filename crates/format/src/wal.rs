//! The write-ahead log as bytes: segment header, entries, and the slots and seals of a log in the object store. Owns what an entry is made of; guarantees that no
//! record body can pass for an entry (each segment has a random salt that its entries repeat and their checksums
//! begin with); never knows files or groups in flight.
//!
//! An entry is a fixed header, the section area (every section with its payload; of records only the block
//! header), then the data of the records sections in order. All three are multiples of 8 bytes long.

mod decode;
mod encode;
mod scan;
mod seal;
mod section;
mod segment;
mod slot;

pub(crate) use decode::EntryHead;
pub use decode::{Bad, BadKind, Entry, EntryHeader, decode_entry};
pub use encode::{EntryParts, Grouping, encode_entry, entry_len};
pub use scan::{find_valid_after, headers_after};
pub use seal::{SEAL_BYTES, Seal};
pub use section::{ProducerChange, Section, StreamSection};
pub use segment::{SEGMENT_HEADER_BYTES, SegmentHeader};
pub(crate) use slot::SLOT_MAGIC;
pub use slot::{SLOT_HEADER_BYTES, Slot, SlotEntry, SlotHeader};

use crate::ids::{ClusterId, SessionId};
use crate::wire::crc;

/// Bytes of an entry's fixed header.
pub const ENTRY_HEADER_BYTES: usize = 64;

pub(crate) const ENTRY_MAGIC: [u8; 4] = *b"KENT";
pub(crate) const ENTRY_VERSION: u8 = 1;

/// What every entry of one segment has in common; nothing written under another context decodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryContext {
    /// The cluster.
    pub cluster: ClusterId,
    /// Whose WAL it is.
    pub session: SessionId,
    /// Random, chosen per segment, never shown to clients.
    pub salt: u64,
}

impl EntryContext {
    /// What the checksums of an entry's header and section area begin with.
    pub(crate) fn seed(&self) -> u32 {
        let mut bytes = [0; 40];
        bytes[..16].copy_from_slice(&self.cluster.0);
        bytes[16..24].copy_from_slice(&self.session.node.0.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.session.epoch.0.to_le_bytes());
        bytes[32..].copy_from_slice(&self.salt.to_le_bytes());
        crc(&bytes)
    }
}
