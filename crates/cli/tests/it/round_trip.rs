//! `read --format json` and `append --format json` are one shape: what one prints the other stores, exactly.

use crate::node::{Node, stderr};

/// Every type of header value, repeated names, and bodies that are no text.
const RECORDS: &str = r#"{"body":"plain"}
{"body_base64":"/wAB","headers":[{"name":"b","value":"2"},{"name":"a","value":"1"},{"name":"b","value":"1"}]}
{"body":"","producer_timestamp":"1700000000000"}
{"body":"a\n\u0000é🦀","headers":[{"name":"","value":""},{"name":"ü","value":"\"\\"}]}
{"headers":[{"name":"t","type":"short_string","value":"s"},{"name":"t","type":"bytes","value":"AAEC"},{"name":"t","type":"long_string","value":"/w=="},{"name":"t","type":"bool","value":true},{"name":"t","type":"void","value":null}]}
{"headers":[{"name":"n","type":"i8","value":-128},{"name":"n","type":"u8","value":255},{"name":"n","type":"i16","value":-32768},{"name":"n","type":"u16","value":65535},{"name":"n","type":"i32","value":-2147483648},{"name":"n","type":"u32","value":4294967295},{"name":"n","type":"i64","value":"-9223372036854775808"},{"name":"n","type":"u64","value":"18446744073709551615"},{"name":"n","type":"timestamp","value":"1700000000"}]}
{"headers":[{"name":"f","type":"f32","value":0.1},{"name":"f","type":"f64","value":1.7976931348623157e308},{"name":"f","type":"f64","value":"NaN"},{"name":"f","type":"f32","value":"-inf"},{"name":"d","type":"decimal","value":{"scale":2,"value":314}}]}
{"headers":[{"name":"c","type":"table","value":[{"name":"x","value":"1"},{"name":"x","type":"array","value":[{"value":"y"},{"type":"u8","value":1}]}]}]}
"#;

/// The lines without what each stream gives for itself.
fn without_place(lines: &str) -> Vec<serde_json::Value> {
    lines
        .lines()
        .map(|line| {
            let mut record: serde_json::Value = serde_json::from_str(line).unwrap();
            let object = record.as_object_mut().unwrap();
            assert!(object.remove("offset").is_some() && object.remove("timestamp").is_some());
            record
        })
        .collect()
}

#[test]
fn what_read_prints_append_stores() {
    let directory = tempfile::tempdir().unwrap();
    let node = Node::start(directory.path());
    node.run(&["create", "first", "--max-age", "1d"]);
    node.run(&["create", "second", "--max-age", "1d"]);
    let output = node.feed(&["append", "first", "--format", "json"], RECORDS.as_bytes());
    assert!(output.status.success(), "{}", stderr(&output));
    let first = node.stdout(&["read", "first", "--format", "json"]);
    assert_eq!(first.lines().count(), RECORDS.lines().count());
    let output = node.feed(&["append", "second", "--format", "json"], first.as_bytes());
    assert!(output.status.success(), "{}", stderr(&output));
    let second = node.stdout(&["read", "second", "--format", "json"]);
    assert_eq!(without_place(&first), without_place(&second));
    assert_eq!(
        node.run(&["read", "first", "--format", "raw"]).stdout,
        node.run(&["read", "second", "--format", "raw"]).stdout
    );

    // And nothing was lost on the way in.
    let meant = RECORDS.lines().map(|line| {
        let mut record: serde_json::Value = serde_json::from_str(line).unwrap();
        let object = record.as_object_mut().unwrap();
        if !object.contains_key("body_base64") {
            object.entry("body").or_insert("".into());
        }
        record
    });
    let mut meant: Vec<_> = meant.collect();
    // 0.1 is not an f32; the nearest one is.
    meant[6]["headers"][0]["value"] = f64::from(0.1_f32).into();
    assert_eq!(without_place(&first), meant);
}
