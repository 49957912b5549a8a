//! The index of an object: owns the extents of every stream in it, guarantees that they are sorted, disjoint
//! and inside the file, never holds a record.
//!
//! Layout (all varints): streams; for each, ascending: difference to the previous id (the first: the id),
//! extents; for each, ascending: difference to the previous extent's end (the first: the base), records, first
//! timestamp, milliseconds to the last, position / 8, bytes / 8. Then, if the footer says so, the summaries of each stream.

use super::{Footer, ObjectSource, Summaries};
use crate::ids::{Offset, StreamId, Timestamp};
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
    /// What filters may find in them.
    pub summaries: Summaries,
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

    /// What filters may find in the extents of one stream.
    #[must_use]
    pub fn summaries(&self, stream: StreamId) -> &Summaries {
        match self.streams.binary_search_by_key(&stream, |entry| entry.stream) {
            Ok(at) => &self.streams[at].summaries,
            Err(_) => &Summaries::Unknown,
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

    /// The same, as it was before there were summaries.
    #[must_use]
    pub fn without_summaries(mut self) -> ObjectIndex {
        self.streams.iter_mut().for_each(|entry| entry.summaries = Summaries::Unknown);
        self
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
        let summarised = self.streams.iter().any(|entry| entry.summaries != Summaries::Unknown);
        if summarised {
            self.streams.iter().for_each(|entry| entry.summaries.put(&mut out));
        }
        let footer = Footer {
            source: self.source,
            index_position: position,
            index_len: u32::try_from(out.len()).expect("index above 4 GiB"),
            index_crc: crc(&out),
            records: self.records(),
            summarised,
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
            streams.push(StreamIndex { stream: StreamId(stream), extents, summaries: Summaries::Unknown });
        }
        if footer.summarised {
            for entry in &mut streams {
                entry.summaries = Summaries::get(&mut reader, entry.extents.len())?;
            }
            if streams.iter().all(|entry| entry.summaries == Summaries::Unknown) {
                return Err(reader.error("summaries announced, but none is there"));
            }
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
