//! Records with offset, time and typed headers, in JSON and binary, on every way to read.

use bytes::Bytes;
use kelda_format::batch::Batch;
use kelda_format::header::{Header, Headers, Value};
use kelda_format::ids::Timestamp;
use kelda_format::record::{Record, StoredRecord};
use kelda_format::records::{Frame, encode_write};
use serde_json::json;

use crate::support::TestNode;

const JSON: &str = "application/vnd.kelda.records+json";
const BINARY: &str = "application/vnd.kelda.records";

fn records() -> Vec<Record> {
    let headers = [
        Header::new("trace", Value::Text("abc".into())),
        Header::new("n", Value::I64(-5)),
        Header::new("trace", Value::Bytes(Bytes::from_static(&[0, 255]))),
    ];
    vec![
        Record::new("plain"),
        Record {
            body: Bytes::from_static(&[0xff, 0x00]),
            headers: Headers::new(&headers).unwrap(),
            producer_timestamp: Some(Timestamp(1_769_860_800_000)),
        },
        Record::new(""),
    ]
}

async fn append_binary(node: &TestNode) {
    let body = encode_write(&Batch::from_records(&records()).unwrap()).concat();
    let reply = node.send("POST", "/s", &[("content-type", BINARY)], body).await;
    assert_eq!(reply.status, 204, "{}", reply.text());
    assert_eq!((reply.offset("kelda-first-offset"), reply.offset("stream-next-offset")), (0, 3));
}

fn frames(body: &Bytes) -> Vec<StoredRecord> {
    let (mut at, mut all) = (0, Vec::new());
    while at < body.len() {
        let (frame, next) = Frame::decode(body, at).unwrap().unwrap();
        all.extend(frame.records());
        at = next;
    }
    all
}

fn meant(json: &serde_json::Value) {
    let records = json["records"].as_array().unwrap();
    assert_eq!(records.len(), 3);
    let time = records[0]["timestamp"].as_str().unwrap();
    assert!(time.parse::<u64>().unwrap() > 1_700_000_000_000);
    assert_eq!(records[0], json!({"offset": "00000000000000000000", "timestamp": time, "body": "plain"}));
    assert_eq!(
        records[1],
        json!({
            "offset": "00000000000000000001",
            "timestamp": time,
            "producer_timestamp": "1769860800000",
            "headers": [
                {"name": "trace", "value": "abc"},
                {"name": "n", "type": "i64", "value": "-5"},
                {"name": "trace", "type": "bytes", "value": "AP8="},
            ],
            "body_base64": "/wA=",
        })
    );
    assert_eq!(records[2]["body"], "");
}

#[tokio::test]
async fn binary_in_everything_out() {
    let node = TestNode::start().await;
    node.create("/s", "application/octet-stream").await;
    append_binary(&node).await;

    let reply = node.send("GET", "/s", &[("accept", BINARY)], "").await;
    assert_eq!(reply.header("content-type"), Some(BINARY));
    assert_eq!(reply.header("content-length"), Some(reply.body.len().to_string().as_str()));
    let found = frames(&reply.body);
    assert_eq!(found.iter().map(|stored| stored.offset.0).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(found.into_iter().map(|stored| stored.record).collect::<Vec<_>>(), records());

    for (target, accept) in
        [("/s?as=records", "*/*"), ("/s", JSON), ("/s?offset=0&live=long-poll&as=records", "*/*")]
    {
        let reply = node.send("GET", target, &[("accept", accept)], "").await;
        assert_eq!(reply.header("content-type"), Some(JSON), "{target}");
        meant(&reply.json());
    }
    assert_eq!(node.get("/s").await.body.as_ref(), b"plain\xff\x00", "a plain client sees plain bodies");
}

#[tokio::test]
async fn records_as_events() {
    let node = TestNode::start().await;
    node.create("/s", "application/octet-stream").await;
    append_binary(&node).await;

    let mut events = node.events("/s?offset=0&live=sse&as=records", &[]).await;
    assert_eq!(events.headers.get("stream-sse-data-encoding"), None, "JSON is text");
    meant(&serde_json::from_str(&events.expect("data").await).unwrap());
    assert_eq!(events.control().await["streamNextOffset"], "00000000000000000003");

    let mut events = node.events("/s?offset=0&live=sse", &[("accept", BINARY)]).await;
    assert_eq!(events.headers["stream-sse-data-encoding"], "base64");
    let data = events.expect("data").await;
    let data = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, data).unwrap();
    let found = frames(&data.into());
    assert_eq!(found.into_iter().map(|stored| stored.record).collect::<Vec<_>>(), records());
}

#[tokio::test]
async fn json_in_json_out() {
    let node = TestNode::start().await;
    node.create("/s", "text/plain").await;
    let body = json!({"records": [
        {"body": "plain"},
        {"body_base64": "/wA=", "producer_timestamp": "1769860800000", "headers": [
            {"name": "trace", "value": "abc"},
            {"name": "n", "type": "i64", "value": -5},
            {"name": "trace", "type": "bytes", "value": "AP8="},
        ]},
        {},
    ]});
    let reply = node.send("POST", "/s", &[("content-type", JSON)], body.to_string()).await;
    assert_eq!((reply.status, reply.offset("stream-next-offset")), (204, 3));
    meant(&node.get("/s?as=records").await.json());
    assert_eq!(node.get("/s?as=records&offset=3").await.json(), json!({"records": []}));
}

#[tokio::test]
async fn a_batch_is_all_or_nothing() {
    let node = TestNode::start().await;
    node.create("/s", "text/plain").await;
    let too_many = format!("{{\"records\":[{}{{}}]}}", "{},".repeat(10_000));
    let reply = node.send("POST", "/s", &[("content-type", JSON)], too_many).await;
    assert_eq!(reply.refused(), (413, "too-many-records".to_owned()));
    let last_wrong = "{\"records\":[{\"body\":\"a\"},{\"bdy\":\"b\"}]}";
    let reply = node.send("POST", "/s", &[("content-type", JSON)], last_wrong).await;
    assert_eq!(reply.refused(), (400, "invalid-body".to_owned()));
    assert!(reply.json()["detail"].as_str().unwrap().contains("`bdy`"));
    let body = encode_write(&Batch::from_records(&records()).unwrap()).concat();
    for cut in [1, 10, body.len() - 1] {
        let reply = node.send("POST", "/s", &[("content-type", BINARY)], body[..cut].to_vec()).await;
        assert_eq!(reply.refused(), (400, "invalid-body".to_owned()), "{cut}");
    }
    let mut flipped = body.clone();
    *flipped.last_mut().unwrap() ^= 1;
    let reply = node.send("POST", "/s", &[("content-type", BINARY)], flipped).await;
    assert_eq!(reply.refused(), (400, "invalid-body".to_owned()), "a flipped bit");
    assert_eq!(node.head("/s").await.offset("stream-next-offset"), 0);
}

#[tokio::test]
async fn ten_thousand_records_in_one_request() {
    let node = TestNode::start().await;
    node.create("/s", "text/plain").await;
    let records: Vec<_> = (0..10_000).map(|n| json!({"body": format!("{n},")})).collect();
    let reply =
        node.send("POST", "/s", &[("content-type", JSON)], json!({"records": records}).to_string()).await;
    assert_eq!((reply.status, reply.offset("stream-next-offset")), (204, 10_000));
    let meant: String = (0..10_000).map(|n| format!("{n},")).collect();
    assert_eq!(node.get("/s").await.text(), meant);
    assert_eq!(node.get("/s?tail=2").await.text(), "9998,9999,");
}

#[tokio::test]
async fn a_page_that_is_sent_in_pieces_comes_whole() {
    let node = TestNode::start().await;
    node.create("/s", "application/octet-stream").await;
    let records: Vec<Record> = (0..1024).map(|_| Record::new(vec![b'x'; 1024])).collect();
    let body = encode_write(&Batch::from_records(&records).unwrap()).concat();
    for _ in 0..12 {
        let reply = node.send("POST", "/s", &[("content-type", BINARY)], body.clone()).await;
        assert_eq!(reply.status, 204, "{}", reply.text());
    }
    let reply = node.send("GET", "/s?offset=0&bytes=16777216", &[("accept", BINARY)], "").await;
    let all = frames(&reply.body);
    assert_eq!(all.len() as u64, reply.offset("stream-next-offset"));
    assert!(all.iter().zip(0..).all(|(stored, offset)| stored.offset.0 == offset), "in order, each once");
}
