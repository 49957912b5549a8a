//! Writing WAL entries: owns the layout of the header and the section area, guarantees that metadata and bodies
//! are handed on as they are, never copies them.

use bytes::Bytes;

use super::section::SECTION_HEADER_BYTES;
use super::{ENTRY_HEADER_BYTES, ENTRY_MAGIC, ENTRY_VERSION, EntryContext, Section, StreamSection};
use crate::limits::{MAX_ENTRY_HEAD_BYTES, MAX_ENTRY_SECTIONS};
use crate::wire::{crc_with, padding, put_u16, put_u32, put_u64};

static ZEROS: [u8; 8] = [0; 8];

/// An encoded entry, as buffers for one vectored write.
#[derive(Clone, Debug)]
pub struct EntryParts {
    /// The buffers, in order; none is empty.
    pub bufs: Vec<Bytes>,
    /// Bytes of all of them, a multiple of 8.
    pub len: u64,
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
    let mut data = Vec::with_capacity(sections.len() * 2);
    for section in sections {
        put_section(&mut head, section, context);
        if let Section::Records(block) = &section.section {
            data.push(block.meta.clone());
            data.push(block.body.clone());
            data.extend(block.summary.clone());
            let pad = padding(block.header.data_len());
            data.push(Bytes::from_static(&ZEROS[..pad]));
        }
    }
    data.retain(|part| !part.is_empty());
    let data_len: u64 = data.iter().map(|part| part.len() as u64).sum();
    let area_len = head.len() - ENTRY_HEADER_BYTES;
    assert!(area_len <= MAX_ENTRY_HEAD_BYTES, "WAL section area of {area_len} bytes");
    seal_header(&mut head, context, sections.len(), place, data_len);
    let len = head.len() as u64 + data_len;
    let mut bufs = Vec::with_capacity(1 + data.len());
    bufs.push(head.into());
    bufs.append(&mut data);
    EntryParts { bufs, len }
}

/// Bytes that [`encode_entry`] makes of `sections`, whatever their group.
///
/// # Panics
/// As [`encode_entry`].
#[must_use]
pub fn entry_len(sections: &[StreamSection]) -> u64 {
    let of = |section: &StreamSection| {
        let payload = section.section.payload_len();
        let data = match &section.section {
            Section::Records(block) => block.header.padded_data_len(),
            _ => 0,
        };
        SECTION_HEADER_BYTES as u64 + payload + padding(payload) as u64 + data
    };
    ENTRY_HEADER_BYTES as u64 + sections.iter().map(of).sum::<u64>()
}

fn put_section(head: &mut Vec<u8>, section: &StreamSection, context: &EntryContext) {
    let at = head.len();
    head.push(section.section.type_byte());
    head.extend_from_slice(&ZEROS[..7]);
    put_u64(head, section.stream.0);
    put_u64(head, section.epoch.0);
    section.section.put_payload(head, context.cluster);
    let payload_len = head.len() - at - SECTION_HEADER_BYTES;
    let len = u32::try_from(payload_len).expect("section payload above 4 GiB");
    head[at + 4..at + 8].copy_from_slice(&len.to_le_bytes());
    head.extend_from_slice(&ZEROS[..padding(payload_len as u64)]);
}

/// Fills in the fixed header, which describes everything behind it.
fn seal_header(
    head: &mut [u8],
    context: &EntryContext,
    sections: usize,
    place: Grouping,
    data_len: u64,
) {
    let seed = context.seed();
    let (fixed, area) = head.split_at_mut(ENTRY_HEADER_BYTES);
    let mut out = Vec::with_capacity(ENTRY_HEADER_BYTES);
    out.extend_from_slice(&ENTRY_MAGIC);
    out.push(ENTRY_VERSION);
    out.push(0);
    put_u16(&mut out, u16::try_from(sections).expect("checked above"));
    put_u64(&mut out, context.salt);
    put_u64(&mut out, context.session.epoch.0);
    put_u64(&mut out, place.group);
    put_u64(&mut out, place.synced_group);
    put_u64(&mut out, data_len);
    put_u32(&mut out, u32::try_from(area.len()).expect("checked above"));
    put_u32(&mut out, crc_with(seed, area));
    put_u32(&mut out, u32::try_from(place.in_group / 8).expect("group above 32 GiB"));
    let sum = crc_with(seed, &out);
    put_u32(&mut out, sum);
    fixed.copy_from_slice(&out);
}
