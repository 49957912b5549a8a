//! Writing records as JSON.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use kelda_format::record::StoredRecord;
use serde_json::Value as Json;

use super::value;
use crate::http::offset;

/// What stands before the first record.
pub const OPEN: &[u8] = b"{\"records\":[";
/// What stands behind the last record.
pub const CLOSE: &[u8] = b"]}";

/// Bytes of a body that are written at a time; a multiple of three, so that base64 needs no padding in between.
const STEP: usize = 6 << 10;

/// Appends one record as an object, behind a comma unless it is the first. For who holds the record anyway.
pub fn put_record(out: &mut Vec<u8>, stored: &StoredRecord, first: bool) {
    if !first {
        out.push(b',');
    }
    let mut text = RecordText::new(stored.clone());
    while let Some(piece) = text.piece() {
        out.extend_from_slice(&piece);
    }
}

/// One record as an object, in pieces: however large a body is and however it has to be escaped, a piece stays small.
/// Offset and times come first, so that a person sees them; the body comes last.
pub struct RecordText {
    stored: StoredRecord,
    is_text: bool,
    /// How much of the body is written; nothing before the object is begun.
    at: Option<usize>,
    ended: bool,
}

impl RecordText {
    /// Begins with a record.
    #[must_use]
    pub fn new(stored: StoredRecord) -> RecordText {
        let is_text = std::str::from_utf8(&stored.record.body).is_ok();
        RecordText { stored, is_text, at: None, ended: false }
    }

    /// The next piece; nothing at the end.
    pub fn piece(&mut self) -> Option<Bytes> {
        let body = &self.stored.record.body;
        match self.at {
            _ if self.ended => None,
            None => {
                self.at = Some(0);
                Some(self.head())
            }
            Some(at) if at < body.len() => {
                let end = self.step(at);
                self.at = Some(end);
                let part = &self.stored.record.body[at..end];
                Some(if self.is_text { escaped(part) } else { STANDARD.encode(part).into() })
            }
            Some(_) => {
                self.ended = true;
                Some(Bytes::from_static(b"\"}"))
            }
        }
    }

    /// Where the part of the body that begins at `at` ends: behind a whole character.
    fn step(&self, at: usize) -> usize {
        let body = &self.stored.record.body;
        let mut end = (at + STEP).min(body.len());
        while self.is_text && end < body.len() && body[end] & 0b1100_0000 == 0b1000_0000 {
            end -= 1;
        }
        end
    }

    fn head(&self) -> Bytes {
        let (stored, record) = (&self.stored, &self.stored.record);
        let mut out = Vec::with_capacity(96);
        let offset = offset::format(stored.offset);
        // Writing to a vector cannot fail, here and below.
        let _ = write!(out, "{{\"offset\":\"{offset}\",\"timestamp\":\"{}\"", stored.timestamp);
        if let Some(time) = record.producer_timestamp {
            let _ = write!(out, ",\"producer_timestamp\":\"{time}\"");
        }
        if !record.headers.is_empty() {
            let headers: Json = record.headers.iter().map(|header| value::header(&header)).collect();
            let _ = write!(out, ",\"headers\":{headers}");
        }
        out.extend_from_slice(if self.is_text { b",\"body\":\"" } else { b",\"body_base64\":\"" });
        out.into()
    }
}

/// A part of a text as it stands between the quotes of a JSON string.
fn escaped(part: &[u8]) -> Bytes {
    let text = String::from_utf8_lossy(part);
    let quoted = Bytes::from(Json::from(text.as_ref()).to_string());
    quoted.slice(1..quoted.len() - 1)
}
