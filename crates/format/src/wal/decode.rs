//! Reading WAL entries: owns the verdict on the bytes at one position, guarantees that an entry that comes out
//! passed every checksum, never judges whether a bad one is a torn tail or corruption (P11 needs the whole WAL
//! for that).

use std::borrow::Cow;

use bytes::Bytes;

use super::section::{RECORDS, RECORDS_PAYLOAD_BYTES, SECTION_HEADER_BYTES, Section, StreamSection};
use super::{ENTRY_HEADER_BYTES, ENTRY_MAGIC, ENTRY_VERSION, EntryContext};
use crate::block::{Block, BlockHeader};
use crate::ids::{Epoch, StreamId};
use crate::limits::{MAX_ENTRY_HEAD_BYTES, MAX_ENTRY_SECTIONS};
use crate::wire::{DecodeError, Reader, crc_with, padding};

/// The fixed header of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryHeader {
    /// The group that was written and synced together.
    pub group: u64,
    /// The last group known to be durable when this was written.
    pub synced_group: u64,
    /// Bytes from the first entry of the group to this one: bytes before that one belong to earlier groups,
    /// whether or not they can be read.
    pub in_group: u64,
    /// How many sections follow; 0 for a synced mark.
    pub sections: u16,
    /// Bytes of the section area.
    pub(crate) area_len: u32,
    pub(crate) area_crc: u32,
    /// Bytes of the records' data.
    pub(crate) data_len: u64,
}

/// A verified entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Group numbers.
    pub header: EntryHeader,
    /// What it holds, in order.
    pub sections: Vec<StreamSection>,
}

/// What kind of bad the bytes at a position are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadKind {
    /// The input ends here.
    End,
    /// Only zeros where a header would be: never written, or its page was lost.
    Blank,
    /// Not an entry of this WAL, or one that was damaged or cut short.
    Damaged,
    /// An entry with a valid checksum that this program does not know how to read.
    Unsupported,
}

/// Why no entry could be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no WAL entry at byte {at}: {detail}")]
pub struct Bad {
    /// The position that was tried, in bytes.
    pub at: u64,
    /// What kind of bad.
    pub kind: BadKind,
    /// The fixed header, if that much is intact: its group tells whether it was ever acknowledged.
    pub header: Option<EntryHeader>,
    /// What was found and what would be right.
    pub detail: Cow<'static, str>,
}

impl EntryHeader {
    /// Bytes of the whole entry.
    #[must_use]
    pub fn entry_len(&self) -> u64 {
        ENTRY_HEADER_BYTES as u64 + u64::from(self.area_len) + self.data_len
    }

    /// Where the group of an entry at byte `at` begins. What lies before it was durable before this entry was
    /// written.
    #[must_use]
    pub fn group_start(&self, at: usize) -> usize {
        at.saturating_sub(usize::try_from(self.in_group).unwrap_or(usize::MAX))
    }

    /// Reads a fixed header at the beginning of `bytes`.
    pub(super) fn decode(bytes: &[u8], context: &EntryContext) -> Result<EntryHeader, Failure> {
        let mut reader = Reader::new(bytes, "WAL entry header");
        let whole = reader.clone().take(ENTRY_HEADER_BYTES)?;
        if reader.array::<4>()? != ENTRY_MAGIC {
            return Err(reader.error("no entry begins here").into());
        }
        let (version, flags, sections) = (reader.u8()?, reader.u8()?, reader.u16()?);
        if reader.u64()? != context.salt {
            return Err(reader.error("entry of another segment").into());
        }
        let (summed, sum) = whole.split_at(ENTRY_HEADER_BYTES - 4);
        if crc_with(context.seed(), summed).to_le_bytes() != sum {
            return Err(reader.error("checksum mismatch of the header").into());
        }
        if version != ENTRY_VERSION || flags != 0 {
            return Err(Failure::Unsupported(format!(
                "version {version} with flags {flags:#04x}, this program knows {ENTRY_VERSION} without"
            )));
        }
        if reader.u64()? != context.session.epoch.0 {
            return Err(reader.error("entry of another session").into());
        }
        let (group, synced_group, data_len) = (reader.u64()?, reader.u64()?, reader.u64()?);
        let (area_len, area_crc) = (reader.u32()?, reader.u32()?);
        let in_group = u64::from(reader.u32()?) * 8;
        if area_len as usize > MAX_ENTRY_HEAD_BYTES
            || sections as usize > MAX_ENTRY_SECTIONS
            || !(u64::from(area_len) | data_len).is_multiple_of(8)
            || data_len > i64::MAX as u64
            || synced_group > group
        {
            return Err(reader.error("lengths or groups that no writer makes").into());
        }
        Ok(EntryHeader { group, synced_group, in_group, sections, area_len, area_crc, data_len })
    }
}

/// Why part of an entry could not be read.
pub(super) enum Failure {
    Damaged(DecodeError),
    Unsupported(String),
}

impl From<DecodeError> for Failure {
    fn from(error: DecodeError) -> Failure {
        Failure::Damaged(error)
    }
}

/// A section as the section area holds it: of records only the block header, and where their data is.
enum Found {
    Records { header: BlockHeader, data: std::ops::Range<usize> },
    Other(Section),
}

/// An entry whose header and section area were verified, and the data not yet.
pub(crate) struct EntryHead {
    header: EntryHeader,
    sections: Vec<(StreamId, Epoch, Found)>,
    data: Bytes,
    /// Where the next entry may begin.
    pub next: usize,
}

impl EntryHead {
    pub fn decode(bytes: &Bytes, at: usize, context: &EntryContext) -> Result<EntryHead, Bad> {
        let rest = bytes.get(at..).unwrap_or_default();
        let bad = |kind, header, detail| Bad { at: at as u64, kind, header, detail };
        if rest.is_empty() {
            return Err(bad(BadKind::End, None, "the input ends".into()));
        }
        if rest.iter().take(ENTRY_HEADER_BYTES).all(|&byte| byte == 0) {
            return Err(bad(BadKind::Blank, None, "only zeros".into()));
        }
        let failed = |header, failure| match failure {
            Failure::Damaged(error) => bad(BadKind::Damaged, header, error.to_string().into()),
            Failure::Unsupported(detail) => bad(BadKind::Unsupported, header, detail.into()),
        };
        let header = EntryHeader::decode(rest, context).map_err(|failure| failed(None, failure))?;
        if header.entry_len() > rest.len() as u64 {
            let detail = format!("{} bytes long, but only {} follow", header.entry_len(), rest.len());
            return Err(bad(BadKind::Damaged, Some(header), detail.into()));
        }
        let area_at = at + ENTRY_HEADER_BYTES;
        let data_at = area_at + header.area_len as usize;
        let next = at + header.entry_len() as usize;
        let area = bytes.slice(area_at..data_at);
        let sections =
            decode_area(&header, &area, context).map_err(|failure| failed(Some(header), failure))?;
        Ok(EntryHead { header, sections, data: bytes.slice(data_at..next), next })
    }

    /// The records of one stream, verified; nothing of other streams is looked at.
    pub fn blocks(&self, stream: StreamId) -> impl Iterator<Item = Result<Block, DecodeError>> + '_ {
        self.sections.iter().filter_map(move |(id, _, found)| match found {
            Found::Records { header, data } if *id == stream => {
                Some(Block::from_parts(header.clone(), &self.data.slice(data.clone())))
            }
            _ => None,
        })
    }
}

fn decode_area(
    header: &EntryHeader,
    area: &Bytes,
    context: &EntryContext,
) -> Result<Vec<(StreamId, Epoch, Found)>, Failure> {
    let mut reader = Reader::of_shared(area, "WAL section area");
    if crc_with(context.seed(), area) != header.area_crc {
        return Err(reader.error("checksum mismatch of the sections").into());
    }
    let mut sections =
        Vec::with_capacity(usize::from(header.sections).min(area.len() / SECTION_HEADER_BYTES));
    let mut data_at = 0u64;
    for _ in 0..header.sections {
        let kind = reader.u8()?;
        reader.zeros(3)?;
        let len = reader.u32()? as usize;
        let (stream, epoch) = (StreamId(reader.u64()?), Epoch(reader.u64()?));
        let payload = reader.shared(len)?;
        reader.zeros(padding(len as u64))?;
        let found = if kind == RECORDS {
            if len != RECORDS_PAYLOAD_BYTES {
                return Err(reader.error(format!("records section of {len} bytes")).into());
            }
            let block = BlockHeader::decode(&payload, context.cluster)?;
            let end = data_at + block.padded_data_len();
            if block.stream != stream || end > header.data_len {
                return Err(reader.error("block of another stream, or longer than the entry").into());
            }
            let data = data_at as usize..end as usize;
            data_at = end;
            Found::Records { header: block, data }
        } else {
            let section = Section::get_payload(kind, &payload)?;
            Found::Other(section.ok_or_else(|| Failure::Unsupported(format!("unknown section type {kind}")))?)
        };
        sections.push((stream, epoch, found));
    }
    reader.finish()?;
    if data_at != header.data_len {
        return Err(reader.error("data that no section claims").into());
    }
    Ok(sections)
}

/// Reads the entry at byte `at`; returns it and where the next one may begin. Blocks share the memory of
/// `bytes`.
///
/// # Errors
/// When there is no valid entry of this context; what that means is for P11 to say.
pub fn decode_entry(bytes: &Bytes, at: usize, context: &EntryContext) -> Result<(Entry, usize), Bad> {
    let EntryHead { header, sections, data, next } = EntryHead::decode(bytes, at, context)?;
    let sections = sections
        .into_iter()
        .map(|(stream, epoch, found)| {
            let section = match found {
                Found::Records { header, data: range } => {
                    Section::Records(Block::from_parts(header, &data.slice(range))?)
                }
                Found::Other(section) => section,
            };
            Ok(StreamSection { stream, epoch, section })
        })
        .collect::<Result<Vec<_>, DecodeError>>()
        .map_err(|error| Bad {
            at: at as u64,
            kind: BadKind::Damaged,
            header: Some(header),
            detail: error.to_string().into(),
        })?;
    Ok((Entry { header, sections }, next))
}
