//! Writing records as JSON.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kelda_format::record::StoredRecord;
use serde_json::Value as Json;

use super::value;
use crate::http::offset;

/// What stands before the first record.
pub const OPEN: &[u8] = b"{\"records\":[";
/// What stands behind the last record.
pub const CLOSE: &[u8] = b"]}";

/// Appends one record as an object, behind a comma unless it is the first. Offset and times come first, so that a person
/// sees them; the body comes last.
pub fn put_record(out: &mut Vec<u8>, stored: &StoredRecord, first: bool) {
    let record = &stored.record;
    if !first {
        out.push(b',');
    }
    // Writing to a vector cannot fail, here and below, and texts and numbers can always be written as JSON.
    let offset = offset::format(stored.offset);
    let _ = write!(out, "{{\"offset\":\"{offset}\",\"timestamp\":\"{}\"", stored.timestamp);
    if let Some(time) = record.producer_timestamp {
        let _ = write!(out, ",\"producer_timestamp\":\"{time}\"");
    }
    if !record.headers.is_empty() {
        let headers: Json = record.headers.iter().map(|header| value::header(&header)).collect();
        let _ = write!(out, ",\"headers\":{headers}");
    }
    match std::str::from_utf8(&record.body) {
        Ok(text) => {
            out.extend_from_slice(b",\"body\":");
            let _ = serde_json::to_writer(&mut *out, text);
        }
        Err(_) => {
            let _ = write!(out, ",\"body_base64\":\"{}\"", STANDARD.encode(&record.body));
        }
    }
    out.push(b'}');
}
