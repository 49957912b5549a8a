//! Starting and ending anywhere.

use std::time::Duration;

use crate::support::TestNode;

/// Five records, the first three an instant before the others; the time between.
async fn two_groups(node: &TestNode) -> String {
    node.filled("/s", &["a", "b", "c"]).await;
    tokio::time::sleep(Duration::from_millis(30)).await;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    let between = kelda_server::time::format(kelda_format::ids::Timestamp(u64::try_from(now).unwrap()));
    tokio::time::sleep(Duration::from_millis(30)).await;
    node.append("/s", "d").await;
    node.append("/s", "e").await;
    between
}

#[tokio::test]
async fn every_start_and_end() {
    let node = TestNode::start().await;
    let between = two_groups(&node).await;
    let escaped = between.replace(':', "%3A");
    for (query, text, end) in [
        ("from=first".to_owned(), "abcde", false),
        ("from=last".to_owned(), "e", false),
        ("from=next".to_owned(), "", false),
        ("from=1h".to_owned(), "abcde", false),
        (format!("from={between}"), "de", false),
        (format!("from={escaped}"), "de", false),
        ("from=2020-01-01T00:00:00Z".to_owned(), "abcde", false),
        ("from=2099-01-01T00:00:00Z".to_owned(), "", false),
        ("tail=2".to_owned(), "de", false),
        ("tail=0".to_owned(), "", false),
        ("tail=99".to_owned(), "abcde", false),
        ("offset=1&until=3".to_owned(), "bc", true),
        ("offset=1&until=1".to_owned(), "", true),
        ("offset=3&until=1".to_owned(), "", true),
        ("offset=1&until=99".to_owned(), "bcde", false),
        (format!("until={between}"), "abc", true),
        ("until=2020-01-01T00:00:00Z".to_owned(), "", true),
        ("until=2099-01-01T00:00:00Z".to_owned(), "abcde", false),
        ("count=2".to_owned(), "ab", true),
        ("offset=3&count=2".to_owned(), "de", true),
        ("count=99".to_owned(), "abcde", false),
        ("from=first&until=4&count=3".to_owned(), "abc", true),
        ("offset=4&bytes=1".to_owned(), "e", false),
    ] {
        let reply = node.get(&format!("/s?{query}")).await;
        assert_eq!((reply.status, reply.text()), (200, text), "{query}");
        assert_eq!(reply.header("kelda-end"), end.then_some("true"), "{query}");
        let reached = reply.offset("stream-next-offset") == 5;
        assert_eq!(reply.header("stream-up-to-date").is_some(), reached, "{query}");
    }
}

#[tokio::test]
async fn bytes_bound_what_records_take() {
    let node = TestNode::start().await;
    let text = "x".repeat(100);
    node.filled("/s", &[&text, &text, &text, &text]).await;
    for (bytes, records) in [(1, 1), (150, 1), (250, 2), (390, 3), (1_000, 4)] {
        let reply = node.get(&format!("/s?bytes={bytes}")).await;
        assert_eq!(reply.offset("stream-next-offset"), records, "{bytes}");
    }
}

#[tokio::test]
async fn one_record_comes_even_if_it_is_larger_than_asked_for() {
    let node = TestNode::start().await;
    node.filled("/s", &["a long record", "b"]).await;
    let reply = node.get("/s?bytes=1").await;
    assert_eq!((reply.text(), reply.offset("stream-next-offset")), ("a long record", 1));
}

#[tokio::test]
async fn a_long_stream_comes_in_pages_without_a_gap() {
    let node = TestNode::start().await;
    node.create("/big", "application/octet-stream").await;
    let mut meant = Vec::new();
    for n in 0..40u32 {
        let record: Vec<u8> = (0..100_000u32).map(|i| u8::try_from((i * 7 + n) % 251).unwrap()).collect();
        let reply =
            node.send("POST", "/big", &[("content-type", "application/octet-stream")], record.clone()).await;
        assert_eq!(reply.status, 204);
        meant.extend(record);
    }
    let (mut found, mut at, mut pages) = (Vec::new(), 0, 0);
    loop {
        let reply = node.get(&format!("/big?offset={at}")).await;
        assert!(reply.body.len() <= 1 << 20, "a page is bounded");
        assert_eq!(reply.header("content-length"), Some(reply.body.len().to_string().as_str()));
        found.extend_from_slice(&reply.body);
        at = reply.offset("stream-next-offset");
        pages += 1;
        if reply.header("stream-up-to-date").is_some() {
            break;
        }
    }
    assert!(pages > 3, "{pages}");
    assert!(found == meant, "the bytes are the same");
    let whole = node.get("/big?bytes=16000000").await;
    assert!(whole.body == meant, "a larger page when asked for");
}

#[tokio::test]
async fn many_readers_of_large_pages_at_once_get_the_same_bytes() {
    let node = TestNode::start().await;
    node.create("/big", "application/octet-stream").await;
    let record: Vec<u8> = (0..50_000u32).map(|i| u8::try_from(i % 253).unwrap()).collect();
    for _ in 0..20 {
        node.send("POST", "/big", &[("content-type", "application/octet-stream")], record.clone()).await;
    }
    let meant = record.repeat(20);
    let reads = (0..64).map(|_| node.get("/big?offset=-1"));
    for reply in futures::future::join_all(reads).await {
        assert!(reply.body == meant, "whole or piece by piece, the bytes are the same");
    }
}
