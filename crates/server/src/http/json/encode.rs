//! Writing records as JSON.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kelda_format::record::StoredRecord;
use serde_json::{Map, Value as Json};

use super::value;

/// What stands before the first record.
pub const OPEN: &[u8] = b"{\"records\":[";
/// What stands behind the last record.
pub const CLOSE: &[u8] = b"]}";

/// Appends one record as an object, behind a comma unless it is the first.
pub fn put_record(out: &mut Vec<u8>, record: &StoredRecord, first: bool) {
    if !first {
        out.push(b',');
    }
    let mut object = Map::new();
    object.insert("offset".to_owned(), Json::from(record.offset.to_string()));
    object.insert("timestamp".to_owned(), Json::from(record.timestamp.to_string()));
    if let Some(time) = record.record.producer_timestamp {
        object.insert("producer_timestamp".to_owned(), Json::from(time.to_string()));
    }
    if !record.record.headers.is_empty() {
        let headers: Json = record.record.headers.iter().map(|header| value::header(&header)).collect();
        object.insert("headers".to_owned(), headers);
    }
    match std::str::from_utf8(&record.record.body) {
        Ok(text) => object.insert("body".to_owned(), Json::from(text)),
        Err(_) => object.insert("body_base64".to_owned(), Json::from(STANDARD.encode(&record.record.body))),
    };
    // Writing to a vector cannot fail, and a map of strings and numbers can always be written.
    let _ = serde_json::to_writer(out, &Json::Object(object));
}
