//! The index of an object: owns the extents of every stream in it, guarantees that they are sorted, disjoint
//! and inside the file, never holds a record.
//!
//! Layout (all varints): streams; for each, ascending: difference to the previous id (the first: the id),
//! extents; for each, ascending: difference to the previous extent's end (the first: the base), records, first
//! timestamp, milliseconds to the last, position / 8, bytes / 8.

use std::collections::BTreeMap;

use super::{Footer, ObjectSource};
use crate::block::Block;
use crate::ids::{Offset, StreamId, Timestamp};
use crate::limits::{EXTENT_GAP_BYTES, EXTENT_TARGET_BYTES};
use crate::wal::{Entry, Section};
use crate::wire::{DecodeError, Reader, crc, put_varint};

const WHAT: &str = "object index";

/// A byte range in which a stream's blocks hold exactly the offsets `base..end`; other streams' entries may lie
/// between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Offset of the first record.
    pub base: Offset,
    /// Offset after the last record.
    pub end: Offset,
    /// Timestamp of the first record.
    pub first_timestamp: Timestamp,
    /// Timestamp of the last record.
    pub last_timestamp: Timestamp,
    /// Where the range begins in the object, a multiple of 8.
    pub position: u64,
    /// Bytes of the range, a multiple of 8.
    pub length: u32,
}

/// The extents of one stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamIndex {
    /// The stream.
    pub stream: StreamId,
    /// By offset, disjoint, at least one.
    pub extents: Vec<Extent>,
}

/// Where in an object which records are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectIndex {
    /// What is needed to read the extents.
    pub source: ObjectSource,
    /// By stream id.
    pub streams: Vec<StreamIndex>,
}

impl ObjectIndex {
    /// The extents of one stream; none when it is not in the object.
    #[must_use]
    pub fn extents(&self, stream: StreamId) -> &[Extent] {
        match self.streams.binary_search_by_key(&stream, |entry| entry.stream) {
            Ok(at) => &self.streams[at].extents,
            Err(_) => &[],
        }
    }

    /// The extent that holds `offset`.
    #[must_use]
    pub fn find(&self, stream: StreamId, offset: Offset) -> Option<&Extent> {
        let extents = self.extents(stream);
        let at = extents.partition_point(|extent| extent.end <= offset);
        extents.get(at).filter(|extent| extent.base <= offset)
    }

    /// The first extent with a record at or after `timestamp`.
    #[must_use]
    pub fn find_time(&self, stream: StreamId, timestamp: Timestamp) -> Option<&Extent> {
        let extents = self.extents(stream);
        extents.get(extents.partition_point(|extent| extent.last_timestamp < timestamp))
    }

    /// Records of all streams.
    #[must_use]
    pub fn records(&self) -> u64 {
        let extents = self.streams.iter().flat_map(|entry| &entry.extents);
        extents.map(|extent| extent.end.since(extent.base)).sum()
    }

    /// Index and footer, to stand at byte `position` (the end of entries or blocks) as the object's last bytes.
    ///
    /// # Panics
    /// When the index exceeds 4 GiB, which no object of the segment size can bring about.
    #[must_use]
    pub fn encode_trailer(&self, position: u64) -> Vec<u8> {
        let mut out = Vec::new();
        put_varint(&mut out, self.streams.len() as u64);
        let mut previous = 0;
        for entry in &self.streams {
            put_varint(&mut out, entry.stream.0 - previous);
            previous = entry.stream.0;
            put_varint(&mut out, entry.extents.len() as u64);
            let mut end = Offset::ZERO;
            for extent in &entry.extents {
                put_varint(&mut out, extent.base.0 - end.0);
                put_varint(&mut out, extent.end.since(extent.base));
                put_varint(&mut out, extent.first_timestamp.0);
                put_varint(&mut out, extent.last_timestamp.0 - extent.first_timestamp.0);
                put_varint(&mut out, extent.position / 8);
                put_varint(&mut out, u64::from(extent.length / 8));
                end = extent.end;
            }
        }
        let footer = Footer {
            source: self.source,
            index_position: position,
            index_len: u32::try_from(out.len()).expect("index above 4 GiB"),
            index_crc: crc(&out),
            records: self.records(),
        };
        out.extend_from_slice(&footer.encode());
        out
    }

    /// Reads the index that `footer` describes; `bytes` are exactly it.
    ///
    /// # Errors
    /// When it is damaged or contradicts the footer.
    pub fn decode(bytes: &[u8], footer: &Footer) -> Result<ObjectIndex, DecodeError> {
        let mut reader = Reader::new(bytes, WHAT);
        if bytes.len() as u64 != u64::from(footer.index_len) || crc(bytes) != footer.index_crc {
            return Err(reader.error("length or checksum mismatch"));
        }
        let count = reader.length()?;
        let mut streams: Vec<StreamIndex> = Vec::new();
        for _ in 0..count {
            let step = reader.varint()?;
            let previous = streams.last().map(|entry| entry.stream.0);
            if previous.is_some() && step == 0 {
                return Err(reader.error("streams out of order"));
            }
            let stream = add(&reader, previous.unwrap_or(0), step)?;
            let extents = get_extents(&mut reader, footer.index_position)?;
            streams.push(StreamIndex { stream: StreamId(stream), extents });
        }
        reader.finish()?;
        let mut records = 0;
        for extent in streams.iter().flat_map(|entry| &entry.extents) {
            records = add(&reader, records, extent.end.since(extent.base))?;
        }
        if records != footer.records {
            return Err(reader.error(format!("{records} records, the footer says {}", footer.records)));
        }
        Ok(ObjectIndex { source: footer.source, streams })
    }
}

fn add(reader: &Reader<'_>, a: u64, b: u64) -> Result<u64, DecodeError> {
    a.checked_add(b).ok_or_else(|| reader.error("number above 64 bits"))
}

fn get_extents(reader: &mut Reader<'_>, data_end: u64) -> Result<Vec<Extent>, DecodeError> {
    let count = reader.length()?;
    if count == 0 {
        return Err(reader.error("stream without extents"));
    }
    let mut extents: Vec<Extent> = Vec::new();
    for _ in 0..count {
        let previous = extents.last().map_or(0, |extent| extent.end.0);
        let step = reader.varint()?;
        let base = add(reader, previous, step)?;
        let records = reader.varint()?;
        let end = add(reader, base, records)?;
        let first = reader.varint()?;
        let span = reader.varint()?;
        let last = add(reader, first, span)?;
        let position = reader.varint_up_to(data_end / 8)? * 8;
        let length = reader.varint_up_to(u64::from(u32::MAX / 8))? * 8;
        if records == 0 || length == 0 || length > data_end - position {
            return Err(reader.error(format!(
                "extent of {records} records, {length} bytes at {position}, of {data_end} bytes"
            )));
        }
        extents.push(Extent {
            base: Offset(base),
            end: Offset(end),
            first_timestamp: Timestamp(first),
            last_timestamp: Timestamp(last),
            position,
            length: u32::try_from(length).unwrap_or(u32::MAX),
        });
    }
    Ok(extents)
}

/// Collects extents while a segment or a packed object is written.
#[derive(Clone, Debug, Default)]
pub struct IndexBuilder {
    streams: BTreeMap<StreamId, Vec<Extent>>,
}

impl IndexBuilder {
    /// Nothing indexed yet.
    #[must_use]
    pub fn new() -> IndexBuilder {
        IndexBuilder::default()
    }

    /// Adds a block's records, which lie in `length` bytes at `position` (of a segment: the whole entry).
    /// Blocks of one stream come in the order of their offsets.
    ///
    /// # Panics
    /// When they do not, or a position or length is not a multiple of 8.
    pub fn add(&mut self, block: &Block, position: u64, length: u64) {
        self.add_range(
            block.stream(),
            Extent {
                base: block.base(),
                end: block.end(),
                first_timestamp: block.first_timestamp(),
                last_timestamp: block.last_timestamp(),
                position,
                length: u32::try_from(length).expect("entry above 4 GiB"),
            },
        );
    }

    /// Adds the records of a WAL entry that begins at `position` and is `length` bytes long.
    pub fn add_entry(&mut self, entry: &Entry, position: u64, length: u64) {
        for section in &entry.sections {
            if let Section::Records(block) = &section.section {
                self.add(block, position, length);
            }
        }
    }

    /// Adds an extent, joined to the stream's last one where that pays.
    ///
    /// # Panics
    /// As [`IndexBuilder::add`].
    pub fn add_range(&mut self, stream: StreamId, extent: Extent) {
        assert!(
            (extent.position | u64::from(extent.length)).is_multiple_of(8) && extent.length > 0,
            "extent of {} bytes at {}",
            extent.length,
            extent.position
        );
        assert!(extent.base < extent.end, "extent without records");
        let extents = self.streams.entry(stream).or_default();
        let Some(last) = extents.last_mut() else {
            extents.push(extent);
            return;
        };
        assert!(
            last.end <= extent.base,
            "offsets of {stream} run backwards from {} to {}",
            last.end,
            extent.base
        );
        let last_end = last.position + u64::from(last.length);
        let joined = (extent.position + u64::from(extent.length)).saturating_sub(last.position);
        if last.end == extent.base
            && last.position <= extent.position
            && extent.position.saturating_sub(last_end) <= EXTENT_GAP_BYTES
            && joined <= EXTENT_TARGET_BYTES
        {
            last.end = extent.end;
            last.last_timestamp = extent.last_timestamp.max(last.last_timestamp);
            last.length = u32::try_from(joined).expect("bounded by the target").max(last.length);
        } else {
            extents.push(extent);
        }
    }

    /// Whether nothing was added.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }

    /// The index of what was added.
    #[must_use]
    pub fn finish(self, source: ObjectSource) -> ObjectIndex {
        let streams =
            self.streams.into_iter().map(|(stream, extents)| StreamIndex { stream, extents }).collect();
        ObjectIndex { source, streams }
    }
}
