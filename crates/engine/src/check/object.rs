//! One object, from its footer to its last byte: owns the order of what is verified. Guarantees the judgement that a reader
//! would make of each extent, and that a fault in one part does not hide those of others. Never holds more than the index
//! and one window.

use std::sync::Arc;

use kelda_env::{Store, StoreError};
use kelda_format::object::{
    Extent, FOOTER_BYTES, Footer, OBJECT_HEADER_BYTES, ObjectIndex, ObjectKind, ObjectSource,
    decode_object_header,
};
use kelda_format::rows::ObjectRow;
use kelda_format::wal::{BadKind, SEGMENT_HEADER_BYTES, SegmentHeader};
use kelda_format::{ClusterId, DecodeError, ObjectId, Offset, StreamId};

use super::finding::{Affected, Fault, Finding, Findings};
use super::gaps;
use super::uses::{Uses, lacking};
use super::window::Window;
use crate::objects::{ObjectError, ObjectReader, Page, Source};

/// An object and what is known of it.
pub(super) struct Object<'a> {
    pub(super) store: &'a Arc<dyn Store>,
    pub(super) reader: &'a ObjectReader,
    pub(super) cluster: ClusterId,
    pub(super) id: ObjectId,
    pub(super) key: &'a str,
    /// Length of the file.
    pub(super) len: u64,
    /// What the metadata says, if it is known and says anything.
    pub(super) row: Option<&'a ObjectRow>,
    pub(super) uses: Option<&'a Uses<'a>>,
    pub(super) findings: &'a mut Findings,
}

/// What an intact footer and index say.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Contents {
    pub(super) kind: Option<ObjectKind>,
    pub(super) records: u64,
    pub(super) streams: u64,
    pub(super) extents: u64,
    /// Whether the index or the footer is what is damaged.
    pub(super) index_damaged: bool,
}

impl Object<'_> {
    /// Verifies all of it.
    pub(super) async fn verify(mut self) -> Contents {
        let len = self.check_length();
        let footer_at = len.saturating_sub(FOOTER_BYTES as u64);
        let footer = match self.store.get_range(self.key, footer_at..len).await {
            Err(error) => {
                self.store_fault(footer_at, &error);
                return Contents::default();
            }
            Ok(bytes) => match Footer::decode(&bytes, len) {
                Ok(footer) => footer,
                Err(error) => {
                    self.undecodable(footer_at, &error, self.whole());
                    return Contents { index_damaged: error.newer.is_none(), ..Contents::default() };
                }
            },
        };
        self.check_kind(&footer, footer_at);
        self.check_header(&footer).await;
        let mut contents = Contents { kind: Some(footer.source.kind()), ..Contents::default() };
        let source = Source::unknown(self.id, self.key, len);
        match self.reader.index(self.cluster, &source).await {
            Ok(index) => {
                contents.records = footer.records;
                contents.streams = index.streams.len() as u64;
                contents.extents = index.streams.iter().map(|stream| stream.extents.len() as u64).sum();
                self.check_refs(&index, footer.index_position);
                self.check_data(&index, footer.index_position).await;
            }
            Err(ObjectError::Damaged { position, detail, .. }) => {
                contents.index_damaged = true;
                self.found(Fault::Damaged, Some(position), detail, self.whole());
            }
            Err(ObjectError::Missing { .. }) => {
                self.found(Fault::Missing, None, "it went away meanwhile".to_owned(), self.whole());
            }
            Err(ObjectError::Unavailable(detail)) => {
                self.found(Fault::Unreadable, Some(footer.index_position), detail, self.whole());
            }
        }
        contents
    }

    /// Compares the length with what the metadata says, by which readers find the footer; gives the latter.
    fn check_length(&mut self) -> u64 {
        let Some(row) = self.row.filter(|row| row.bytes != self.len) else { return self.len };
        let detail = format!("it is {} bytes long, the metadata says {}", self.len, row.bytes);
        let cut = self.len < row.bytes;
        let affected = if cut { self.whole() } else { Vec::new() };
        self.found(Fault::Damaged, Some(self.len.min(row.bytes)), detail, affected);
        if cut { self.len } else { row.bytes }
    }

    fn check_kind(&mut self, footer: &Footer, footer_at: u64) {
        use kelda_format::rows::ObjectKind as Row;
        let kind = match footer.source.kind() {
            ObjectKind::Segment => Row::Segment,
            ObjectKind::Packed => Row::Packed,
        };
        if let Some(row) = self.row.filter(|row| row.kind != kind) {
            let detail = format!("it is a {kind:?}, the metadata says {:?}", row.kind);
            self.found(Fault::Damaged, Some(footer_at), detail, Vec::new());
        }
    }

    /// The header, which no reader needs.
    async fn check_header(&mut self, footer: &Footer) {
        let len = match footer.source {
            ObjectSource::Segment(_) => SEGMENT_HEADER_BYTES,
            ObjectSource::Packed(_) => OBJECT_HEADER_BYTES,
        };
        let bytes = match self.store.get_range(self.key, 0..(len as u64).min(footer.index_position)).await {
            Ok(bytes) => bytes,
            Err(error) => return self.store_fault(0, &error),
        };
        let same = match footer.source {
            ObjectSource::Segment(context) => {
                SegmentHeader::decode(&bytes).map(|header| header.context == context)
            }
            ObjectSource::Packed(cluster) => decode_object_header(&bytes).map(|found| found == cluster),
        };
        match same {
            Ok(true) => {}
            Ok(false) => {
                let detail = "header and footer are not of one object".to_owned();
                self.found(Fault::Damaged, Some(0), detail, Vec::new());
            }
            Err(error) => self.undecodable(0, &error, Vec::new()),
        }
    }

    /// What the metadata reads from the object is in its index.
    fn check_refs(&mut self, index: &ObjectIndex, index_at: u64) {
        let Some(uses) = self.uses else { return };
        for row in uses.refs(self.id) {
            if let Some(offset) = lacking(index, row) {
                let detail = format!("its index has no offset {offset} of stream {}", row.source);
                let affected = uses.records(self.id, row.source, offset..row.end);
                self.found(Fault::Damaged, Some(index_at), detail, affected);
            }
        }
    }

    /// Every extent as a reader would decode it, and what lies between them.
    async fn check_data(&mut self, index: &ObjectIndex, end: u64) {
        let mut extents: Vec<(StreamId, &Extent)> =
            index.streams.iter().flat_map(|of| of.extents.iter().map(|extent| (of.stream, extent))).collect();
        extents.sort_unstable_by_key(|(stream, extent)| (extent.position, *stream));
        let (store, key) = (self.store, self.key);
        let mut window = Window::new(store, key, end);
        let mut covered = match index.source {
            ObjectSource::Segment(_) => SEGMENT_HEADER_BYTES as u64,
            ObjectSource::Packed(_) => OBJECT_HEADER_BYTES as u64,
        };
        for (stream, extent) in extents {
            self.check_gap(&mut window, index, covered, extent.position).await;
            let length = u64::from(extent.length);
            covered = covered.max(extent.position + length);
            match window.get(extent.position, length).await {
                Ok(bytes) => {
                    if let Err((at, detail)) = Page::decode(&bytes, &index.source, stream, extent) {
                        let affected = self.records(stream, extent.base..extent.end);
                        self.found(Fault::Damaged, Some(extent.position + at), detail, affected);
                    }
                }
                Err(error) => {
                    let affected = self.records(stream, extent.base..extent.end);
                    self.unreadable(extent.position, &error, affected);
                }
            }
        }
        self.check_gap(&mut window, index, covered, end).await;
    }

    async fn check_gap(&mut self, window: &mut Window<'_>, index: &ObjectIndex, from: u64, to: u64) {
        if from >= to {
            return;
        }
        let ObjectSource::Segment(context) = index.source else {
            let detail = format!("{} bytes that belong to no extent of its index", to - from);
            return self.found(Fault::Damaged, Some(from), detail, Vec::new());
        };
        match gaps::verify(window, &context, from, to).await {
            Err(error) => self.unreadable(from, &error, Vec::new()),
            Ok(bad) => {
                for bad in bad {
                    let newer = bad.kind == BadKind::Unsupported;
                    let fault = if newer { Fault::Newer } else { Fault::Damaged };
                    self.found(fault, Some(bad.at), bad.detail.into_owned(), Vec::new());
                }
            }
        }
    }

    fn whole(&self) -> Vec<Affected> {
        self.uses.map(|uses| uses.whole(self.id)).unwrap_or_default()
    }

    fn records(&self, source: StreamId, range: std::ops::Range<Offset>) -> Vec<Affected> {
        self.uses.map(|uses| uses.records(self.id, source, range)).unwrap_or_default()
    }

    fn undecodable(&mut self, position: u64, error: &DecodeError, affected: Vec<Affected>) {
        let fault = if error.newer.is_some() { Fault::Newer } else { Fault::Damaged };
        self.found(fault, Some(position), error.to_string(), affected);
    }

    fn store_fault(&mut self, position: u64, error: &StoreError) {
        let affected = self.whole();
        self.unreadable(position, error, affected);
    }

    fn unreadable(&mut self, position: u64, error: &StoreError, affected: Vec<Affected>) {
        self.found(Fault::Unreadable, Some(position), error.to_string(), affected);
    }

    fn found(&mut self, fault: Fault, position: Option<u64>, detail: String, affected: Vec<Affected>) {
        let file = self.key.to_owned();
        self.findings.push(Finding { fault, file, position, detail, affected });
    }
}
