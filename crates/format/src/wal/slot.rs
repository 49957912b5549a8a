//! A slot of the object WAL as bytes: owns the header before its entries, guarantees that what decodes is whole (every
//! entry, and nothing behind the last) and of the slot that it says, never knows the store.
//!
//! A slot is one group: its entries have group number `slot + 1` and go into the store as one object, which is there
//! whole or not at all. So there is no torn tail here: what does not decode is damaged.

use bytes::Bytes;

use super::{BadKind, ENTRY_VERSION, EntryContext, Grouping, StreamSection, decode_entry, encode_entry};
use crate::ids::{ClusterId, NodeId, SessionEpoch, SessionId};
use crate::wire::{DecodeError, Fixed, NewerVersion, Reader, crc};

/// Bytes of a slot's header; the first entry follows directly.
pub const SLOT_HEADER_BYTES: usize = 88;

pub(crate) const SLOT_MAGIC: [u8; 8] = *b"KELDASLT";

const VERSION: u16 = 1;

/// What an entry with a valid checksum is that this software cannot read.
const UNKNOWN_ENTRY: NewerVersion =
    NewerVersion { found: ENTRY_VERSION as u32 + 1, known: ENTRY_VERSION as u32 };

/// What stands before the entries of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotHeader {
    /// Cluster, session and salt that every entry of it shares. The salt is also the nonce (P8).
    pub context: EntryContext,
    /// Which slot of the session's WAL it is; the first is 0.
    pub slot: u64,
    /// How many slots were acknowledged when this was written: all below this number were durable.
    pub acknowledged: u64,
}

/// One entry of a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotEntry {
    /// Where it begins, in bytes.
    pub position: u64,
    /// What it holds, in order.
    pub sections: Vec<StreamSection>,
}

/// A verified slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Its header.
    pub header: SlotHeader,
    /// Its entries, in order; at least one.
    pub entries: Vec<SlotEntry>,
}

impl SlotHeader {
    fn encode(&self, bytes: u64, entries: u32) -> [u8; SLOT_HEADER_BYTES] {
        let mut out = Fixed::new(&SLOT_MAGIC);
        out.u16(VERSION);
        out.zeros(6);
        out.bytes(&self.context.cluster.0);
        let session = self.context.session;
        for field in [session.node.0, session.epoch.0, self.slot, self.context.salt, self.acknowledged, bytes]
        {
            out.u64(field);
        }
        out.u32(entries);
        out.finish(0)
    }

    /// Reads a header; also the bytes of the entries and how many they are.
    fn decode(bytes: &[u8]) -> Result<(SlotHeader, u64, u32), DecodeError> {
        let mut reader = Reader::new(bytes, "WAL slot");
        let whole = reader.clone().take(SLOT_HEADER_BYTES)?;
        if reader.array::<8>()? != SLOT_MAGIC {
            return Err(reader.error("no WAL slot begins here"));
        }
        reader.version_u16(VERSION)?;
        let (summed, sum) = whole.split_at(SLOT_HEADER_BYTES - 4);
        if crc(summed).to_le_bytes() != sum {
            return Err(reader.error("checksum mismatch of the header"));
        }
        reader.zeros(6)?;
        let cluster = ClusterId(reader.array()?);
        let session = SessionId { node: NodeId(reader.u64()?), epoch: SessionEpoch(reader.u64()?) };
        let (slot, salt, acknowledged, len) = (reader.u64()?, reader.u64()?, reader.u64()?, reader.u64()?);
        let entries = reader.u32()?;
        if acknowledged > slot || slot == u64::MAX || entries == 0 {
            return Err(reader.error("numbers that no writer makes"));
        }
        let context = EntryContext { cluster, session, salt };
        Ok((SlotHeader { context, slot, acknowledged }, len, entries))
    }

    /// Writes a slot that holds `entries`, copying them into one buffer.
    ///
    /// # Panics
    /// When there is no entry, or one cannot be encoded.
    #[must_use]
    pub fn encode_slot<'a>(&self, entries: impl IntoIterator<Item = &'a [StreamSection]>) -> Bytes {
        let mut out = vec![0; SLOT_HEADER_BYTES];
        let mut count = 0;
        for sections in entries {
            let in_group = (out.len() - SLOT_HEADER_BYTES) as u64;
            let place = Grouping { group: self.slot + 1, synced_group: self.acknowledged, in_group };
            let parts = encode_entry(&self.context, place, sections);
            out.reserve(usize::try_from(parts.len).unwrap_or_default());
            parts.bufs.iter().for_each(|part| out.extend_from_slice(part));
            count += 1;
        }
        assert!(count > 0, "a slot without entries");
        let header = self.encode((out.len() - SLOT_HEADER_BYTES) as u64, count);
        out[..SLOT_HEADER_BYTES].copy_from_slice(&header);
        out.into()
    }
}

impl Slot {
    /// Whether `bytes` begin as a slot does, whatever follows.
    #[must_use]
    pub fn is_one(bytes: &[u8]) -> bool {
        bytes.starts_with(&SLOT_MAGIC)
    }

    /// Reads and verifies a whole slot; blocks share the memory of `bytes`. Whether it is of the right cluster, session
    /// and slot is for the caller.
    ///
    /// # Errors
    /// When it is damaged, cut short, followed by anything, or of a later version.
    pub fn decode(bytes: &Bytes) -> Result<Slot, DecodeError> {
        let (header, len, count) = SlotHeader::decode(bytes)?;
        let damaged = |at: u64, detail: String| DecodeError::new("WAL slot", at, detail);
        let found = (bytes.len() - SLOT_HEADER_BYTES) as u64;
        if found != len {
            return Err(damaged(
                SLOT_HEADER_BYTES as u64,
                format!("{found} bytes of entries, {len} announced"),
            ));
        }
        let mut entries = Vec::new();
        let mut at = SLOT_HEADER_BYTES;
        for _ in 0..count {
            let (entry, next) = decode_entry(bytes, at, &header.context).map_err(|bad| DecodeError {
                newer: (bad.kind == BadKind::Unsupported).then_some(UNKNOWN_ENTRY),
                ..damaged(bad.at, bad.detail.into_owned())
            })?;
            let place = (entry.header.group, entry.header.synced_group, entry.header.in_group);
            if place != (header.slot + 1, header.acknowledged, (at - SLOT_HEADER_BYTES) as u64) {
                return Err(damaged(at as u64, format!("an entry of another place: {place:?}")));
            }
            entries.push(SlotEntry { position: at as u64, sections: entry.sections });
            at = next;
        }
        if at != bytes.len() {
            return Err(damaged(at as u64, format!("{} bytes behind the last entry", bytes.len() - at)));
        }
        Ok(Slot { header, entries })
    }
}
