//! Makes checksums of hostile bytes right, so that what lies behind them is reached. Owns where the checksums
//! are, a second time and on purpose: a moved field breaks these as it would break old files.

use super::CONTEXT;
use crate::backup::{MANIFEST_HEADER_BYTES, MANIFEST_MAGIC};
use crate::block::{BLOCK_HEADER_BYTES, BLOCK_MAGIC};
use crate::logentry::{LOG_ENTRY_HEADER_BYTES, LOG_ENTRY_MAGIC};
use crate::object::{FOOTER_BYTES, Footer, ObjectSource};
use crate::records::FRAME_HEADER_BYTES;
use crate::snapshot::{SNAPSHOT_HEADER_BYTES, SNAPSHOT_MAGIC};
use crate::wal::{
    ENTRY_HEADER_BYTES, ENTRY_MAGIC, SEAL_BYTES, SEGMENT_HEADER_BYTES, SLOT_HEADER_BYTES, SLOT_MAGIC, Seal,
};
use crate::wire::{Reader, crc, crc_with, padding};

fn get32(bytes: &[u8], at: usize) -> usize {
    bytes.get(at..at + 4).map_or(0, |field| u32::from_le_bytes(field.try_into().unwrap_or_default()) as usize)
}

fn put32(bytes: &mut [u8], at: usize, value: u32) {
    if let Some(field) = bytes.get_mut(at..at + 4) {
        field.copy_from_slice(&value.to_le_bytes());
    }
}

/// Writes the checksum of the bytes at `at..at + len` into the field at `field`.
fn sum(bytes: &mut [u8], seed: u32, at: usize, len: usize, field: usize) {
    if let Some(summed) = at.checked_add(len).and_then(|end| bytes.get(at..end)) {
        let value = crc_with(seed, summed);
        put32(bytes, field, value);
    }
}

/// Fills in a block header whose parts lie at `data`; returns where the parts end.
fn block_at(bytes: &mut [u8], header: usize, data: usize) -> usize {
    if bytes.len() < header + BLOCK_HEADER_BYTES {
        return data;
    }
    bytes[header..header + 4].copy_from_slice(&BLOCK_MAGIC);
    bytes[header + 4] = 1;
    let mut at = data;
    for (len, field) in [(44, 64), (52, 68), (60, 72)] {
        let len = get32(bytes, header + len);
        sum(bytes, 0, at, len, header + field);
        at = at.saturating_add(len);
    }
    sum(bytes, crc(&CONTEXT.cluster.0), header, BLOCK_HEADER_BYTES - 4, header + BLOCK_HEADER_BYTES - 4);
    at
}

pub(super) fn block(input: &[u8]) -> Vec<u8> {
    let mut bytes = input.to_vec();
    block_at(&mut bytes, 0, BLOCK_HEADER_BYTES);
    bytes
}

/// Fills in the entry at `at`; returns where the next one may begin.
fn entry_at(bytes: &mut [u8], at: usize) -> usize {
    if bytes.len() < at + ENTRY_HEADER_BYTES {
        return bytes.len();
    }
    bytes[at..at + 4].copy_from_slice(&ENTRY_MAGIC);
    bytes[at + 4] = 1;
    bytes[at + 5] = 0;
    bytes[at + 8..at + 16].copy_from_slice(&CONTEXT.salt.to_le_bytes());
    bytes[at + 16..at + 24].copy_from_slice(&CONTEXT.session.epoch.0.to_le_bytes());
    let area = at + ENTRY_HEADER_BYTES;
    let area_len = get32(bytes, at + 48);
    let Some(area_end) = area.checked_add(area_len).filter(|&end| end <= bytes.len()) else {
        return bytes.len();
    };
    let (mut section, mut data) = (area, area_end);
    while section + 24 <= area_end {
        let len = get32(bytes, section + 4);
        if bytes[section] == 1 && len == BLOCK_HEADER_BYTES && section + 24 + len <= area_end {
            let end = block_at(bytes, section + 24, data);
            data = end.saturating_add(padding((end - data) as u64));
        }
        section = section.saturating_add(24 + len + padding(len as u64));
    }
    sum(bytes, CONTEXT.seed(), area, area_len, at + 52);
    sum(bytes, CONTEXT.seed(), at, ENTRY_HEADER_BYTES - 4, at + ENTRY_HEADER_BYTES - 4);
    data.min(bytes.len())
}

pub(super) fn entry(input: &[u8]) -> Vec<u8> {
    let mut bytes = input.to_vec();
    entry_at(&mut bytes, 0);
    bytes
}

pub(super) fn segment(input: &[u8]) -> Vec<u8> {
    let mut bytes = input.to_vec();
    let mut at = SEGMENT_HEADER_BYTES;
    while at + ENTRY_HEADER_BYTES <= bytes.len() {
        at = entry_at(&mut bytes, at);
    }
    bytes
}

/// Repairs the checksums of index and footer; entries and blocks have their own targets.
pub(super) fn object(input: &[u8]) -> Vec<u8> {
    let mut bytes = input.to_vec();
    let Some(footer) = bytes.len().checked_sub(FOOTER_BYTES) else { return bytes };
    let index_len = get32(&bytes, footer + 64);
    if let Some(index) = footer.checked_sub(index_len) {
        bytes[footer + 56..footer + 64].copy_from_slice(&(index as u64).to_le_bytes());
        sum(&mut bytes, 0, index, index_len, footer + 68);
    }
    sum(&mut bytes, 0, footer, FOOTER_BYTES - 4, footer + FOOTER_BYTES - 4);
    bytes
}

/// A footer whose length, checksum and number of records are right for `index`.
pub(super) fn footer_for(index: &[u8], summarised: bool) -> Footer {
    Footer {
        source: ObjectSource::Segment(CONTEXT),
        index_position: 1 << 40,
        index_len: u32::try_from(index.len()).unwrap_or(u32::MAX),
        index_crc: crc(index),
        records: records_of(index).unwrap_or_default(),
        summarised,
    }
}

fn records_of(index: &[u8]) -> Option<u64> {
    let mut reader = Reader::new(index, "index");
    let mut records = 0u64;
    for _ in 0..reader.varint().ok()? {
        reader.varint().ok()?;
        for _ in 0..reader.varint().ok()? {
            reader.varint().ok()?;
            records = records.checked_add(reader.varint().ok()?)?;
            for _ in 0..4 {
                reader.varint().ok()?;
            }
        }
    }
    Some(records)
}

pub(super) fn frame(input: &[u8]) -> Vec<u8> {
    let mut bytes = input.to_vec();
    let mut at = 0;
    while at + FRAME_HEADER_BYTES <= bytes.len() {
        bytes[at..at + 4].copy_from_slice(b"KREC");
        bytes[at + 4] = 1;
        let (meta, body) = (get32(&bytes, at + 28), get32(&bytes, at + 32));
        let meta_at = at + FRAME_HEADER_BYTES;
        let body_at = meta_at.saturating_add(meta);
        sum(&mut bytes, 0, meta_at, meta, at + 36);
        sum(&mut bytes, 0, body_at, body, at + 40);
        sum(&mut bytes, 0, at, FRAME_HEADER_BYTES - 4, at + FRAME_HEADER_BYTES - 4);
        at = body_at.saturating_add(body);
    }
    bytes
}

/// A header of `header` bytes, whose last eight are the checksums of the body and of itself, for a body whose
/// length stands at `length`.
fn head(bytes: &mut [u8], magic: [u8; 8], header: usize, length: usize) {
    let Some(body) = bytes.len().checked_sub(header) else { return };
    bytes[..8].copy_from_slice(&magic);
    bytes[8..16].copy_from_slice(&[1, 0, 0, 0, 0, 0, 0, 0]);
    put32(bytes, length, u32::try_from(body).unwrap_or(u32::MAX));
    sum(bytes, 0, header, body, header - 8);
    sum(bytes, 0, 0, header - 4, header - 4);
}

pub(super) fn log_entry(input: &[u8]) -> Vec<u8> {
    let mut bytes = input.to_vec();
    head(&mut bytes, LOG_ENTRY_MAGIC, LOG_ENTRY_HEADER_BYTES, 76);
    bytes
}

pub(super) fn snapshot(input: &[u8]) -> Vec<u8> {
    let mut bytes = input.to_vec();
    if bytes.len() >= SNAPSHOT_HEADER_BYTES {
        put32(&mut bytes, 52, 0);
    }
    head(&mut bytes, SNAPSHOT_MAGIC, SNAPSHOT_HEADER_BYTES, 48);
    bytes
}

pub(super) fn slot(input: &[u8]) -> Vec<u8> {
    let mut bytes = input.to_vec();
    if Seal::is_one(&bytes) {
        sum(&mut bytes, 0, 0, SEAL_BYTES - 4, SEAL_BYTES - 4);
        return bytes;
    }
    if bytes.len() < SLOT_HEADER_BYTES {
        return bytes;
    }
    bytes[..8].copy_from_slice(&SLOT_MAGIC);
    bytes[16..32].copy_from_slice(&CONTEXT.cluster.0);
    bytes[32..40].copy_from_slice(&CONTEXT.session.node.0.to_le_bytes());
    bytes[40..48].copy_from_slice(&CONTEXT.session.epoch.0.to_le_bytes());
    bytes[56..64].copy_from_slice(&CONTEXT.salt.to_le_bytes());
    let len = (bytes.len() - SLOT_HEADER_BYTES) as u64;
    bytes[72..80].copy_from_slice(&len.to_le_bytes());
    sum(&mut bytes, 0, 0, SLOT_HEADER_BYTES - 4, SLOT_HEADER_BYTES - 4);
    let mut at = SLOT_HEADER_BYTES;
    while at < bytes.len() {
        at = entry_at(&mut bytes, at);
    }
    bytes
}

/// A manifest: its length and both checksums.
pub(super) fn manifest(input: &[u8]) -> Vec<u8> {
    let mut bytes = input.to_vec();
    if bytes.len() < MANIFEST_HEADER_BYTES {
        return bytes;
    }
    bytes[..8].copy_from_slice(&MANIFEST_MAGIC);
    let body = bytes.len() - MANIFEST_HEADER_BYTES;
    put32(&mut bytes, 32, u32::try_from(body).unwrap_or(u32::MAX));
    sum(&mut bytes, 0, MANIFEST_HEADER_BYTES, body, 36);
    sum(&mut bytes, 0, 0, MANIFEST_HEADER_BYTES - 4, MANIFEST_HEADER_BYTES - 4);
    bytes
}
