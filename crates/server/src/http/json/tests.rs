//! Both directions of the JSON format, and what it refuses.
#![allow(clippy::unwrap_used)]

use bytes::Bytes;
use kelda_format::header::{Header, Headers, Value};
use kelda_format::ids::{Offset, Timestamp};
use kelda_format::record::{Record, StoredRecord};
use proptest::prelude::*;

use super::*;

/// What a reader would send back: the records without what only the owner may assign.
fn again(records: &[StoredRecord]) -> Vec<Record> {
    let mut out = OPEN.to_vec();
    for (at, record) in records.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        let mut text = RecordText::new(record.clone());
        while let Some(piece) = text.piece() {
            assert!(piece.len() < 64 << 10, "pieces are small");
            out.extend_from_slice(&piece);
        }
    }
    out.extend_from_slice(CLOSE);
    let mut json: serde_json::Value = serde_json::from_slice(&out).unwrap();
    for record in json["records"].as_array_mut().unwrap() {
        let object = record.as_object_mut().unwrap();
        assert!(object.remove("offset").is_some_and(|it| it.is_string()));
        assert!(object.remove("timestamp").is_some_and(|it| it.is_string()));
    }
    decode(json.to_string().as_bytes()).unwrap().records().collect()
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<Vec<u8>>().prop_map(|it| Value::Bytes(it.into())),
        any::<String>().prop_map(Value::Text),
        any::<Vec<u8>>().prop_map(|it| Value::LongString(it.into())),
        "[a-z]{0,20}".prop_map(Value::ShortString),
        any::<bool>().prop_map(Value::Bool),
        any::<i8>().prop_map(Value::I8),
        any::<u8>().prop_map(Value::U8),
        any::<i16>().prop_map(Value::I16),
        any::<u16>().prop_map(Value::U16),
        any::<i32>().prop_map(Value::I32),
        any::<u32>().prop_map(Value::U32),
        any::<i64>().prop_map(Value::I64),
        any::<u64>().prop_map(Value::U64),
        any::<f32>().prop_map(Value::F32),
        any::<f64>().prop_map(Value::F64),
        any::<(u8, u32)>().prop_map(|(scale, value)| Value::Decimal { scale, value }),
        any::<u64>().prop_map(Value::Timestamp),
        Just(Value::Void),
        Just(Value::F64(f64::INFINITY)),
        Just(Value::F32(f32::NEG_INFINITY)),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        let named = ("[a-z]{0,5}", inner.clone()).prop_map(|(name, value)| Header { name, value });
        prop_oneof![
            prop::collection::vec(named, 0..4).prop_map(Value::Table),
            prop::collection::vec(inner, 0..4).prop_map(Value::Array),
        ]
    })
}

proptest! {
    #[test]
    fn records_read_back(
        records in prop::collection::vec(
            (any::<Vec<u8>>(), prop::collection::vec((".{0,9}", value()), 0..4), any::<Option<u64>>(), any::<u64>()),
            0..5,
        ),
    ) {
        let records: Vec<_> = records
            .into_iter()
            .map(|(body, headers, producer, offset)| {
                let headers: Vec<_> = headers.into_iter().map(|(name, value)| Header { name, value }).collect();
                let record = Record {
                    body: Bytes::from(body),
                    headers: Headers::new(&headers).unwrap(),
                    producer_timestamp: producer.map(Timestamp),
                };
                StoredRecord { offset: Offset(offset), timestamp: Timestamp(7), record }
            })
            .collect();
        let meant: Vec<_> = records.iter().map(|stored| stored.record.clone()).collect();
        prop_assert_eq!(again(&records), meant);
        for stored in &records {
            let mut line = Vec::new();
            put_record(&mut line, stored, true);
            prop_assert_eq!(decode_record(&line), Ok(stored.record.clone()), "a line by itself");
        }
    }

    #[test]
    fn nothing_panics(text in ".*", records in "[\\[\\]{}\":,a-z0-9 ]*") {
        let _ = decode(text.as_bytes());
        let _ = decode(format!("{{\"records\":[{records}]}}").as_bytes());
    }
}

#[test]
fn large_bodies_are_cut_behind_whole_characters() {
    let texts = [
        "é".repeat(10_000),
        format!("a{}", "日本".repeat(9_000)),
        "\u{1}\"\\\n".repeat(20_000),
        "🦀".repeat(8_000),
    ];
    let bytes: Vec<u8> = (0..50_000u32).map(|n| u8::try_from(n % 256).unwrap()).collect();
    for body in texts.into_iter().map(String::into_bytes).chain([bytes]) {
        let record = Record::new(body);
        let stored = StoredRecord { offset: Offset(0), timestamp: Timestamp(0), record: record.clone() };
        assert_eq!(again(&[stored]), [record]);
    }
}

#[test]
fn what_a_person_writes() {
    let body = br#" {"records":[
        {"body":"a\n"},
        {"body_base64":"AAEC","headers":[{"name":"k","value":"v"},{"name":"n","value":-5},{"name":"b","value":true},
            {"name":"z"},{"name":"x","type":"bytes","value":"AA=="}],"producer_timestamp":"1769860800000"},
        {}
    ]} "#;
    let records: Vec<_> = decode(body).unwrap().records().collect();
    assert_eq!(records.len(), 3);
    assert_eq!(&records[0].body[..], b"a\n");
    assert_eq!(&records[1].body[..], [0, 1, 2]);
    assert_eq!(records[1].producer_timestamp, Some(Timestamp(1_769_860_800_000)));
    let values: Vec<_> = records[1].headers.iter().map(|header| header.value).collect();
    assert_eq!(
        values,
        [
            Value::Text("v".into()),
            Value::I64(-5),
            Value::Bool(true),
            Value::Void,
            Value::Bytes(Bytes::from_static(&[0])),
        ]
    );
    assert!(records[2].body.is_empty());
    assert!(decode(b"{\"records\":[]}").unwrap().is_empty());
}

#[test]
fn what_is_wrong_is_said() {
    for (body, says) in [
        ("", "EOF"),
        ("[]", "an object with the field `records`"),
        ("{}", "missing field `records`"),
        ("{\"records\":{}}", "a list of records"),
        ("{\"records\":[],\"records\":[]}", "duplicate"),
        ("{\"records\":[],\"next\":1}", "unknown field `next`"),
        ("{\"records\":[]} x", "trailing"),
        ("{\"records\":[{\"body\":1}]}", "string"),
        ("{\"records\":[{\"offset\":\"1\"}]}", "unknown field `offset`"),
        ("{\"records\":[{\"body\":\"\",\"body_base64\":\"\"}]}", "not both"),
        ("{\"records\":[{\"body_base64\":\"?\"}]}", "base64"),
        ("{\"records\":[{\"producer_timestamp\":\"-1\"}]}", "milliseconds since 1970"),
        ("{\"records\":[{\"producer_timestamp\":\"99999999999999999999\"}]}", "milliseconds since 1970"),
        ("{\"records\":[{\"headers\":[{\"value\":1}]}]}", "missing field `name`"),
        ("{\"records\":[{\"headers\":[{\"name\":\"a\",\"type\":\"u8\",\"value\":256}]}]}", "in its range"),
        (
            "{\"records\":[{\"headers\":[{\"name\":\"a\",\"type\":\"u9\",\"value\":1}]}]}",
            "`u9` is not a type",
        ),
        ("{\"records\":[{\"headers\":[{\"name\":\"a\",\"value\":[]}]}]}", "needs a type"),
        (
            "{\"records\":[{\"headers\":[{\"name\":\"a\",\"type\":\"table\",\"value\":[{}]}]}]}",
            "needs a name",
        ),
        ("{\"records\":[{\"headers\":[{\"name\":\"a\",\"type\":\"array\",\"value\":[{\"x\":1}]}]}]}", "`x`"),
        ("{\"records\":[{\"headers\":[{\"name\":\"a\",\"type\":\"decimal\",\"value\":1}]}]}", "scale"),
    ] {
        match decode(body.as_bytes()) {
            Err(DecodeFault::Malformed(detail)) => assert!(detail.contains(says), "{body}: {detail}"),
            other => panic!("{body}: {other:?}"),
        }
    }
}

#[test]
fn only_an_object_is_a_record_or_a_header() {
    for (value, found) in [
        ("[]", "sequence"),
        ("[\"1\",\"2\",\"hello\"]", "sequence"),
        ("1", "integer `1`"),
        ("\"x\"", "string \"x\""),
        ("null", "null"),
        ("true", "boolean `true`"),
    ] {
        for (what, refused) in [
            ("a record, which is an object", decode(format!("{{\"records\":[{value}]}}").as_bytes()).err()),
            ("a record, which is an object", decode_record(value.as_bytes()).err()),
            (
                "a header, which is an object",
                decode(format!("{{\"records\":[{{\"headers\":[{value}]}}]}}").as_bytes()).err(),
            ),
            (
                "a header, which is an object",
                decode_record(format!("{{\"headers\":[{value}]}}").as_bytes()).err(),
            ),
            ("an object with the field `records`", decode(value.as_bytes()).err()),
        ] {
            let Some(DecodeFault::Malformed(detail)) = refused else {
                panic!("{value}: {what}: {refused:?}")
            };
            assert!(
                detail.contains(found) && detail.contains(&format!("expected {what}")),
                "{value}: {detail}"
            );
            assert!(detail.contains(" column "), "{value}: {detail}");
        }
    }
}

#[test]
fn a_line_is_one_record_whose_place_is_not_used() {
    let line = br#"{"offset":"00000000000000000007","timestamp":"1","body":"a"}"#;
    assert_eq!(decode_record(line), Ok(Record::new("a")));
    assert_eq!(decode_record(b"{}"), Ok(Record::default()));
    for (line, says) in [
        ("", "EOF"),
        ("{} {}", "trailing characters at column 4"),
        ("{\"offset\":7}", "string"),
        ("{\"timestamp\":\"soon\"}", "`soon` is not right for timestamp"),
        ("{\"offset\":\"-1\"}", "`-1` is not right for offset: write a number"),
        ("{\"body\":\"a\",\"body_base64\":\"\"}", "not both"),
        ("{\"bodies\":1}", "unknown field `bodies`"),
    ] {
        match decode_record(line.as_bytes()) {
            Err(DecodeFault::Malformed(detail)) => assert!(detail.contains(says), "{line}: {detail}"),
            other => panic!("{line}: {other:?}"),
        }
    }
    let wide = format!("{{\"headers\":[{{\"name\":\"a\",\"value\":\"{}\"}}]}}", "x".repeat(70_000));
    assert!(matches!(decode_record(wide.as_bytes()), Err(DecodeFault::Limit(_))));
}

#[test]
fn limits_are_limits() {
    let many = format!("{{\"records\":[{}{{}}]}}", "{},".repeat(10_000));
    assert!(matches!(decode(many.as_bytes()), Err(DecodeFault::Limit(_))));
    let wide = format!(
        "{{\"records\":[{{\"headers\":[{{\"name\":\"a\",\"value\":\"{}\"}}]}}]}}",
        "x".repeat(70_000)
    );
    assert!(matches!(decode(wide.as_bytes()), Err(DecodeFault::Limit(_))));
    let deep = format!(
        "{{\"records\":[{{\"headers\":[{{\"name\":\"a\",\"type\":\"array\",\"value\":{}1{}}}]}}]}}",
        "[{\"type\":\"array\",\"value\":".repeat(100),
        "}]".repeat(100)
    );
    assert!(decode(deep.as_bytes()).is_err(), "nesting is bounded");
}
