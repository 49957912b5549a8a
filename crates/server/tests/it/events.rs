//! Reads that go on: server-sent events.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{Options, TestNode};

#[tokio::test]
async fn each_data_event_is_followed_by_where_to_go_on() {
    let node = TestNode::start().await;
    node.filled("/s", &["one\r\n two\n"]).await;
    let mut events = node.events("/s?offset=-1&live=sse", &[]).await;
    assert_eq!(events.status, 200);
    for (name, value) in [
        ("content-type", "text/event-stream"),
        ("cache-control", "no-cache, no-transform"),
        ("x-accel-buffering", "no"),
        ("x-content-type-options", "nosniff"),
    ] {
        assert_eq!(events.headers[name], value);
    }
    assert!(!events.headers.contains_key("content-length") && events.headers.contains_key("kelda-stream-id"));
    assert_eq!(events.expect("data").await, "one\n two\n");
    let control = events.control().await;
    assert_eq!(
        (&control["streamNextOffset"], &control["upToDate"]),
        (&json!("00000000000000000001"), &json!(true))
    );
    assert!(control["streamCursor"].is_string() && control["streamClosed"].is_null());
    node.append("/s", "three").await;
    assert_eq!(events.expect("data").await, "three");
    assert_eq!(events.control().await["streamNextOffset"], "00000000000000000002");
    node.post("/s", &[("stream-closed", "true")], "last").await;
    assert_eq!(events.expect("data").await, "last");
    let control = events.control().await;
    assert_eq!((&control["streamClosed"], &control["streamCursor"]), (&json!(true), &json!(null)));
    events.end().await;
}

#[tokio::test]
async fn a_reader_at_the_tail_is_told_so_at_once() {
    let node = TestNode::start().await;
    node.filled("/s", &["a"]).await;
    for start in ["offset=now", "offset=1", "from=next"] {
        let mut events = node.events(&format!("/s?{start}&live=sse"), &[]).await;
        let control = events.control().await;
        assert_eq!(
            (&control["streamNextOffset"], &control["upToDate"]),
            (&json!("00000000000000000001"), &json!(true))
        );
    }
    node.send("POST", "/s", &[("stream-closed", "true")], "").await;
    let mut events = node.events("/s?offset=now&live=sse", &[]).await;
    assert_eq!(events.control().await["streamClosed"], true);
    events.end().await;
}

#[tokio::test]
async fn bytes_are_encoded_and_json_is_an_array() {
    let node = TestNode::start().await;
    node.send("PUT", "/b", &[("content-type", "application/octet-stream")], vec![0u8, 10, 13, 255]).await;
    let mut events = node.events("/b?offset=0&live=sse", &[]).await;
    assert_eq!(events.headers["stream-sse-data-encoding"], "base64");
    assert_eq!(events.expect("data").await, "AAoN/w==");
    node.send("PUT", "/j", &[("content-type", "application/json")], "[{\"n\":\n1},2]").await;
    let mut events = node.events("/j?offset=0&live=sse", &[]).await;
    assert_eq!(events.headers.get("stream-sse-data-encoding"), None);
    assert_eq!(events.expect("data").await, "[{\"n\":\n1},2]");
}

#[tokio::test]
async fn it_ends_at_the_end_asked_for() {
    let node = TestNode::start().await;
    node.filled("/s", &["a", "b", "c", "d"]).await;
    for (end, text, next) in [("count=2", "ab", 2), ("until=3", "abc", 3)] {
        let mut events = node.events(&format!("/s?offset=0&live=sse&{end}"), &[]).await;
        assert_eq!(events.expect("data").await, text, "{end}");
        let control = events.control().await;
        assert_eq!(control["streamNextOffset"], format!("{next:020}"));
        assert_eq!(control["keldaEnd"], true);
        events.end().await;
    }
    let mut events = node.events("/s?offset=4&live=sse&count=2", &[]).await;
    events.control().await;
    for text in ["e", "f"] {
        node.append("/s", text).await;
        assert_eq!(events.expect("data").await, text);
        assert_eq!(events.control().await["keldaEnd"].is_null(), text == "e");
    }
    events.end().await;
}

#[tokio::test]
async fn bytes_bound_the_whole_of_it() {
    let node = TestNode::start().await;
    let text = "x".repeat(100);
    node.filled("/s", &[&text]).await;
    let mut events = node.events("/s?offset=0&live=sse&bytes=250", &[]).await;
    assert_eq!(events.expect("data").await, text);
    assert_eq!(events.control().await["keldaEnd"], json!(null));
    node.append("/s", &text).await;
    assert_eq!(events.expect("data").await, text);
    assert_eq!(events.control().await["keldaEnd"], json!(null));
    node.append("/s", &text).await;
    let control = events.control().await;
    assert_eq!(
        (&control["keldaEnd"], &control["streamNextOffset"]),
        (&json!(true), &json!("00000000000000000002"))
    );
    events.end().await;
    let mut events = node.events("/s?offset=0&live=sse&bytes=1", &[]).await;
    assert_eq!(events.expect("data").await, text, "one record comes in any case");
    assert_eq!(events.control().await["keldaEnd"], true);
    events.end().await;
}

#[tokio::test]
async fn a_long_backlog_comes_in_order() {
    let node = TestNode::start().await;
    node.create("/s", "text/plain").await;
    let texts: Vec<String> = (0..30).map(|n| format!("{n:05}").repeat(4_000)).collect();
    for text in &texts {
        node.append("/s", text).await;
    }
    let mut readers = Vec::new();
    for _ in 0..40 {
        readers.push(node.events("/s?offset=0&live=sse", &[]).await);
    }
    for mut events in readers {
        let mut all = String::new();
        loop {
            all.push_str(&events.expect("data").await);
            if events.control().await["upToDate"] == true {
                break;
            }
        }
        assert!(all == texts.concat(), "with room for large events or not, the text is the same");
    }
}

#[tokio::test]
async fn a_deletion_is_told_and_ends_it() {
    let node = TestNode::start().await;
    node.filled("/s", &["a"]).await;
    let mut events = node.events("/s?offset=1&live=sse", &[]).await;
    events.control().await;
    node.send("DELETE", "/s", &[], "").await;
    let problem: serde_json::Value = serde_json::from_str(&events.expect("kelda-problem").await).unwrap();
    assert!(
        matches!(problem["type"].as_str(), Some("urn:kelda:problem:not-found" | "urn:kelda:problem:gone")),
        "{problem}"
    );
    events.end().await;
}

#[tokio::test]
async fn an_idle_stream_is_kept_alive_and_recycled() {
    let options = Options { speed: Some(20), ..Options::flags(&["--sse-max-duration=40s"]) };
    let node = TestNode::with(options).await;
    node.filled("/s", &["a"]).await;
    let begun = Instant::now();
    let mut events = node.events("/s?offset=1&live=sse", &[]).await;
    events.control().await;
    assert_eq!(events.next().await.unwrap().0, "", "a comment after 15 s");
    assert_eq!(events.next().await.unwrap().0, "", "and after 30 s");
    events.end().await;
    let took = begun.elapsed() * 20;
    assert!(took >= Duration::from_secs(40) && took < Duration::from_secs(80), "{took:?}");
}

#[tokio::test]
async fn errors_before_the_first_event_are_replies() {
    let node = TestNode::start().await;
    assert_eq!(node.get("/none?offset=0&live=sse").await.refused(), (404, "not-found".to_owned()));
    node.filled("/s", &["a"]).await;
    assert_eq!(node.get("/s?offset=9&live=sse").await.refused(), (416, "offset-past-tail".to_owned()));
}
