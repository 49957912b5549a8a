//! What is said of a stream: owns the one JSON shape of it, which is that of the server's list and whether it grows
//! for ever, guarantees that `head`, `ls`, `create`, `trim` and `set` say the same. Never asks the server.

use kelda_client::StreamHead;
use serde_json::{Map, Value, json};

/// How a field of the answer becomes one of the object.
enum Form {
    Text,
    Number,
    Time,
}

/// Header fields and the names that the list gives them.
const FIELDS: [(&str, &str, Form); 14] = [
    ("kelda-kind", "kind", Form::Text),
    ("kelda-start-offset", "start_offset", Form::Text),
    ("stream-next-offset", "next_offset", Form::Text),
    ("kelda-bytes", "bytes", Form::Number),
    ("kelda-created", "created", Form::Time),
    ("kelda-oldest", "oldest", Form::Time),
    ("kelda-newest", "newest", Form::Time),
    ("stream-ttl", "ttl_seconds", Form::Number),
    ("stream-expires-at", "expires_at", Form::Time),
    ("kelda-max-age", "max_age", Form::Text),
    ("kelda-max-bytes", "max_bytes", Form::Number),
    ("kelda-segment-bytes", "segment_bytes", Form::Number),
    ("kelda-epoch", "epoch", Form::Text),
    ("kelda-owner", "owner", Form::Text),
];

/// The stream as an object; what the answer does not say is left out.
pub fn object(head: &StreamHead) -> Value {
    let mut object = Map::new();
    object.insert("name".to_owned(), json!(head.name));
    object.insert("stream_id".to_owned(), json!(head.stream_id));
    if !head.content_type.is_empty() {
        object.insert("content_type".to_owned(), json!(head.content_type));
    }
    for (header, name, form) in FIELDS {
        let Some(text) = head.headers.get(header) else { continue };
        let value = match form {
            Form::Text => json!(text),
            Form::Number => text.parse::<u64>().map_or_else(|_| json!(text), |number| json!(number)),
            Form::Time => {
                kelda_server::time::parse(text).map_or_else(|_| json!(text), |time| json!(time.to_string()))
            }
        };
        object.insert(name.to_owned(), value);
    }
    object.insert("sealed".to_owned(), json!(head.sealed));
    let mut object = Value::Object(object);
    mark(&mut object);
    object
}

/// Says whether a stream grows for ever.
pub fn mark(stream: &mut Value) {
    stream["unlimited"] = json!(is_unlimited(stream));
}

/// Whether nothing bounds the stream and it still takes records.
pub fn is_unlimited(stream: &Value) -> bool {
    let limits = ["max_age", "max_bytes", "ttl_seconds", "expires_at"];
    stream["sealed"] != json!(true) && limits.iter().all(|limit| stream.get(*limit).is_none())
}

/// A field of the answer that is a number, 0 when it is not there.
pub fn number(head: &StreamHead, header: &str) -> u64 {
    head.headers.get(header).and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// The stream for people: a field a line.
pub fn describe(stream: &Value) -> String {
    let mut out = String::new();
    let fields = stream.as_object().into_iter().flatten();
    for (name, value) in fields {
        let text = match (name.as_str(), value) {
            ("created" | "oldest" | "newest" | "expires_at", Value::String(ms)) => {
                ms.parse().map_or_else(|_| ms.clone(), crate::clock::rfc3339)
            }
            ("start_offset" | "next_offset", Value::String(offset)) => {
                offset.parse::<u64>().map_or_else(|_| offset.clone(), |offset| offset.to_string())
            }
            (_, Value::String(text)) => text.clone(),
            (_, other) => other.to_string(),
        };
        out.push_str(&format!("{:<14} {text}\n", name.replace('_', " ")));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_without_any_limit_is_unlimited_until_it_is_sealed() {
        assert!(is_unlimited(&json!({"name": "a", "sealed": false, "segment_bytes": 5})));
        for bounded in [
            json!({"sealed": true}),
            json!({"sealed": false, "max_age": "7d"}),
            json!({"sealed": false, "max_bytes": 5}),
            json!({"sealed": false, "ttl_seconds": 5}),
            json!({"sealed": false, "expires_at": "5"}),
        ] {
            assert!(!is_unlimited(&bounded), "{bounded}");
        }
    }

    #[test]
    fn head_and_list_say_the_same() {
        let headers =
            [("kelda-created", "2026-01-31T12:00:00.000Z"), ("kelda-bytes", "12"), ("kelda-epoch", "0")];
        let head = StreamHead {
            name: "a".to_owned(),
            headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            ..StreamHead::default()
        };
        let object = object(&head);
        assert_eq!(object["created"], "1769860800000");
        assert_eq!((&object["bytes"], &object["epoch"]), (&json!(12), &json!("0")));
    }
}
