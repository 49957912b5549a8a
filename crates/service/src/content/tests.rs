//! From body to batch.
#![allow(clippy::unwrap_used)]

use bytes::Bytes;
use kelda_format::limits::{MAX_BATCH_RECORDS, MAX_RECORD_BYTES};
use kelda_format::{Batch, LimitError, Record};
use proptest::prelude::*;

use super::{Content, ContentError};

fn body(text: &str) -> Content {
    Content::Body(Bytes::copy_from_slice(text.as_bytes()))
}

fn texts(batch: &Batch) -> Vec<String> {
    batch.records().map(|record| String::from_utf8(record.body.to_vec()).unwrap()).collect()
}

fn json(text: &str) -> Result<Vec<String>, ContentError> {
    body(text).to_append(true, false).map(|batch| texts(&batch))
}

#[test]
fn a_json_value_comes_back_byte_for_byte() {
    for value in
        ["{\"b\": 1,  \"a\":\t2 }", "\"\\u00e9\\ud83d\"", "1e999", "-0.0", "null", "{\"a\":1,\"a\":2}"]
    {
        assert_eq!(json(&format!(" \n{value}\r\n ")).unwrap(), [value]);
    }
}

#[test]
fn an_array_is_flattened_one_level() {
    assert_eq!(json("[1, [2, 3] ,{\"a\": [4]},\"[\"]").unwrap(), ["1", "[2, 3]", "{\"a\": [4]}", "\"[\""]);
    assert_eq!(json("[[1,2,3]]").unwrap(), ["[1,2,3]"]);
    assert_eq!(json("  [ [] ]").unwrap(), ["[]"]);
}

#[test]
fn an_empty_array_is_nothing_to_create_with_and_nothing_to_append() {
    assert!(body(" [ ] ").into_batch(true).unwrap().is_none());
    assert_eq!(json("[]"), Err(ContentError::EmptyArray));
    assert_eq!(body("[]").to_append(true, true).unwrap_err(), ContentError::EmptyArray);
    assert_eq!(texts(&body("[]").to_append(false, false).unwrap()), ["[]"], "only in JSON mode");
}

#[test]
fn what_is_not_json_is_refused_and_placed() {
    for text in
        ["{ invalid json }", "[1,2", "[1,,2]", "[1] 2", "1 2", "nul", "[1 2]", "{\"a\":}", "\u{feff}1", "NaN"]
    {
        assert!(matches!(json(text), Err(ContentError::InvalidJson { .. })), "{text}");
    }
    let found = Content::Body(Bytes::from_static(b"\"\xff\"")).to_append(true, false).unwrap_err();
    assert!(matches!(found, ContentError::InvalidJson { .. }), "not UTF-8: {found}");
    let found = json("[1, 2, oops]").unwrap_err();
    assert!(matches!(found, ContentError::InvalidJson { record: 2, .. }), "{found}");
}

#[test]
fn deep_nesting_costs_no_stack() {
    let deep = format!("[{}{}]", "[".repeat(1_000_000), "]".repeat(1_000_000));
    assert_eq!(json(&deep).unwrap().len(), 1);
}

#[test]
fn an_array_has_a_bound() {
    let many = |records: usize| format!("[{}]", vec!["1"; records].join(","));
    assert_eq!(json(&many(MAX_BATCH_RECORDS)).unwrap().len(), MAX_BATCH_RECORDS);
    let found = json(&many(MAX_BATCH_RECORDS + 1)).unwrap_err();
    assert!(matches!(found, ContentError::Limit(LimitError::BatchRecords { .. })), "{found}");
}

#[test]
fn a_plain_body_is_one_record_and_is_not_copied() {
    let bytes = Bytes::from_static(b"\x00\xff any");
    let batch = Content::Body(bytes.clone()).to_append(false, false).unwrap();
    assert_eq!(batch.body().as_ptr(), bytes.as_ptr());
    assert_eq!(batch.count(), 1);
    let json = Bytes::from_static(b" {} ");
    let batch = Content::Body(json.clone()).to_append(true, false).unwrap();
    assert_eq!(batch.body().as_ptr(), json[1..].as_ptr());
}

#[test]
fn nothing_needs_a_seal() {
    for nothing in [Content::Empty, Content::Body(Bytes::new()), Content::Records(Batch::empty())] {
        assert_eq!(nothing.clone().to_append(false, false).unwrap_err(), ContentError::EmptyBody);
        assert!(nothing.to_append(true, true).unwrap().is_empty());
    }
    let empty_record = Content::Records(Batch::single(Bytes::new()).unwrap());
    assert_eq!(empty_record.to_append(false, false).unwrap().count(), 1, "a record may be empty");
}

#[test]
fn cut_records_have_to_be_json_in_json_mode() {
    let records = |bodies: &[&'static str]| {
        let records = bodies
            .iter()
            .map(|body| Record { body: Bytes::from_static(body.as_bytes()), ..Record::default() });
        Content::Records(Batch::from_records(&records.collect::<Vec<_>>()).unwrap())
    };
    assert_eq!(texts(&records(&["1", " [2]"]).to_append(true, false).unwrap()), ["1", " [2]"]);
    let found = records(&["1", "x"]).to_append(true, false).unwrap_err();
    assert!(matches!(found, ContentError::InvalidJson { record: 1, .. }), "{found}");
    assert!(records(&["1", ""]).to_append(true, false).is_err());
    assert!(records(&["x"]).to_append(false, false).is_ok());
}

#[test]
fn a_record_has_a_bound() {
    let large = Bytes::from(vec![b'x'; MAX_RECORD_BYTES + 1]);
    let found = Content::Body(large).to_append(false, false).unwrap_err();
    assert!(matches!(found, ContentError::Limit(LimitError::RecordBytes { .. })), "{found}");
}

proptest! {
    /// The records of an array, put together again, are the array.
    #[test]
    fn an_array_is_its_records(values in prop::collection::vec("[0-9]{1,3}|\"[a-z \\[,]{0,5}\"|\\[1,2\\]|\\{\"a\": null\\}", 1..20)) {
        let values: Vec<String> = values.into_iter().map(|v| if v.starts_with('0') { "0".to_owned() } else { v }).collect();
        prop_assert_eq!(json(&format!("[ {} ]", values.join(" ,\n"))).unwrap(), values);
    }

    /// Any bytes are refused or taken, and never with a panic.
    #[test]
    fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = Content::Body(Bytes::from(bytes)).to_append(true, false);
    }
}
