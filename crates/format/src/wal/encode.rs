//! Writing WAL entries: owns the layout of the header and the section area, guarantees that bodies are handed
//! on as they are, never copies them.

use bytes::Bytes;

use super::section::SECTION_HEADER_BYTES;
use super::{ENTRY_HEADER_BYTES, ENTRY_MAGIC, ENTRY_VERSION, EntryContext, Section, StreamSection};
use crate::limits::{MAX_ENTRY_HEAD_BYTES, MAX_ENTRY_SECTIONS};
use crate::wire::{Fixed, crc_with, padding, put_u64};

static ZEROS: [u8; 8] = [0; 8];

/// Metadata up to this size is copied behind the section area, which costs less than a buffer of its own.
const COPIED_META_BYTES: usize = 512;

/// An encoded entry, as buffers for one vectored write.
#[derive(Clone, Debug)]
pub struct EntryParts {
    /// The buffers, in order; none is empty.
    pub bufs: Vec<Bytes>,
    /// Bytes of all of them, a multiple of 8.
    pub len: u64,
}

/// Bytes of the entry that holds `sections`, whatever its group: a multiple of 8.
#[must_use]
pub fn entry_len(sections: &[StreamSection]) -> u64 {
    let sections = sections.iter().map(|section| section_len(&section.section)).sum::<u64>();
    ENTRY_HEADER_BYTES as u64 + sections
}

fn section_len(section: &Section) -> u64 {
    let payload = section.payload_len() as u64;
    let data = match section {
        Section::Records(block) => block.header.padded_data_len(),
        _ => 0,
    };
    SECTION_HEADER_BYTES as u64 + payload + padding(payload) as u64 + data
}

/// Where an entry stands among the groups of its WAL (P11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grouping {
    /// The group that it is written and synced with; the first of a session is 1.
    pub group: u64,
    /// The last group known to be durable when it is written; 0 when none is.
    pub synced_group: u64,
    /// Bytes from the first entry of the group to this one, a multiple of 8.
    pub in_group: u64,
}

/// Encodes an entry. Without sections it is a synced mark. Bodies are shared, not copied.
///
/// # Panics
/// When there are more than 1024 sections, a section is beyond its limit, or the group is not one that can be.
#[must_use]
pub fn encode_entry(context: &EntryContext, place: Grouping, sections: &[StreamSection]) -> EntryParts {
    let Grouping { group, synced_group, in_group } = place;
    assert!(sections.len() <= MAX_ENTRY_SECTIONS, "WAL entry of {} sections", sections.len());
    assert!(synced_group <= group, "group {group} cannot know that {synced_group} is durable");
    assert!(in_group.is_multiple_of(8), "{in_group} bytes into the group");
    let mut head = Vec::with_capacity(ENTRY_HEADER_BYTES + sections.len() * 128);
    head.resize(ENTRY_HEADER_BYTES, 0);
    for section in sections {
        put_section(&mut head, section, context);
    }
    let area_len = head.len() - ENTRY_HEADER_BYTES;
    assert!(area_len <= MAX_ENTRY_HEAD_BYTES, "WAL section area of {area_len} bytes");
    let mut data_len = 0;
    let mut bufs = Vec::with_capacity(1 + sections.len() * 3);
    bufs.push(Bytes::new());
    for section in sections {
        let Section::Records(block) = &section.section else { continue };
        data_len += block.header.padded_data_len();
        if bufs.len() == 1 && block.meta.len() <= COPIED_META_BYTES {
            head.extend_from_slice(&block.meta);
        } else {
            bufs.push(block.meta.clone());
        }
        bufs.push(block.body.clone());
        bufs.extend(block.summary.clone());
        bufs.push(Bytes::from_static(&ZEROS[..padding(block.header.data_len())]));
    }
    let len = (ENTRY_HEADER_BYTES + area_len) as u64 + data_len;
    let area = &head[ENTRY_HEADER_BYTES..ENTRY_HEADER_BYTES + area_len];
    let fixed = encode_header(context, sections.len(), place, data_len, area);
    head[..ENTRY_HEADER_BYTES].copy_from_slice(&fixed);
    bufs[0] = head.into();
    bufs.retain(|buf| !buf.is_empty());
    EntryParts { bufs, len }
}

fn put_section(head: &mut Vec<u8>, section: &StreamSection, context: &EntryContext) {
    let len = section.section.payload_len();
    head.push(section.section.type_byte());
    head.extend_from_slice(&ZEROS[..3]);
    let len32 = u32::try_from(len).expect("section payload above 4 GiB");
    head.extend_from_slice(&len32.to_le_bytes());
    put_u64(head, section.stream.0);
    put_u64(head, section.epoch.0);
    let before = head.len();
    section.section.put_payload(head, context.cluster);
    assert_eq!(head.len() - before, len, "payload of another length than announced");
    head.extend_from_slice(&ZEROS[..padding(len as u64)]);
}

/// The fixed header, which describes everything behind it.
fn encode_header(
    context: &EntryContext,
    sections: usize,
    place: Grouping,
    data_len: u64,
    area: &[u8],
) -> [u8; ENTRY_HEADER_BYTES] {
    let seed = context.seed();
    let mut out = Fixed::new(&ENTRY_MAGIC);
    out.u8(ENTRY_VERSION);
    out.u8(0);
    out.u16(u16::try_from(sections).expect("bounded by the limit"));
    for field in [context.salt, context.session.epoch.0, place.group, place.synced_group, data_len] {
        out.u64(field);
    }
    out.u32(u32::try_from(area.len()).expect("bounded by the limit"));
    out.u32(crc_with(seed, area));
    out.u32(u32::try_from(place.in_group / 8).expect("group above 32 GiB"));
    out.finish(seed)
}
