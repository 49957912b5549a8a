//! Reads that wait for one answer.

use std::time::{Duration, Instant};

use crate::support::{Options, TestNode};

#[tokio::test]
async fn a_waiting_reader_gets_what_is_appended() {
    let node = TestNode::start().await;
    node.filled("/s", &["old"]).await;
    for start in ["offset=1", "offset=now", "from=next", "tail=0"] {
        let target = format!("/s?{start}&live=long-poll");
        let tail = node.head("/s").await.offset("stream-next-offset");
        let target = target.replace("offset=1&", &format!("offset={tail}&"));
        let (reply, ()) = tokio::join!(node.get(&target), async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            node.append("/s", "new").await;
        });
        assert_eq!((reply.status, reply.text()), (200, "new"), "{start}");
        assert_eq!(reply.offset("stream-next-offset"), tail + 1);
        assert_eq!(reply.header("stream-up-to-date"), Some("true"));
        assert!(reply.header("stream-cursor").unwrap().parse::<u64>().is_ok());
    }
}

#[tokio::test]
async fn what_is_there_comes_at_once() {
    let node = TestNode::start().await;
    node.filled("/s", &["a", "b"]).await;
    let begun = Instant::now();
    let reply = node.get("/s?offset=-1&live=long-poll&count=1").await;
    assert_eq!((reply.text(), reply.header("stream-up-to-date")), ("a", None));
    assert!(begun.elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn nothing_in_time_is_204_with_the_tail() {
    let node = TestNode::with(Options::flags(&["--long-poll-timeout=200ms"])).await;
    node.filled("/s", &["a"]).await;
    let begun = Instant::now();
    let reply = node.get("/s?offset=1&live=long-poll").await;
    assert!(begun.elapsed() >= Duration::from_millis(200));
    assert_eq!((reply.status, reply.body.len()), (204, 0));
    assert_eq!(reply.offset("stream-next-offset"), 1);
    assert_eq!(reply.header("stream-up-to-date"), Some("true"));
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    let cursor: u64 = reply.header("stream-cursor").unwrap().parse().unwrap();
    let again = node.get(&format!("/s?offset=1&live=long-poll&cursor={cursor}")).await;
    assert!(again.header("stream-cursor").unwrap().parse::<u64>().unwrap() > cursor);
}

#[tokio::test]
async fn the_end_of_a_stream_ends_the_wait() {
    let node = TestNode::start().await;
    node.filled("/s", &["a"]).await;
    let (reply, ()) = tokio::join!(node.get("/s?offset=1&live=long-poll"), async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        node.send("POST", "/s", &[("stream-closed", "true")], "").await;
    });
    assert_eq!((reply.status, reply.header("stream-closed")), (204, Some("true")));
    assert_eq!(reply.header("stream-cursor"), None);
    let begun = Instant::now();
    let again = node.get("/s?offset=now&live=long-poll").await;
    assert_eq!((again.status, again.header("stream-closed")), (204, Some("true")));
    assert_eq!(again.header("stream-up-to-date"), Some("true"));
    assert!(begun.elapsed() < Duration::from_secs(2), "no wait behind a seal");
}

#[tokio::test]
async fn a_deletion_ends_the_wait() {
    let node = TestNode::start().await;
    node.filled("/s", &["a"]).await;
    let (reply, ()) = tokio::join!(node.get("/s?offset=1&live=long-poll"), async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(node.send("DELETE", "/s", &[], "").await.status, 204);
        node.create("/s", "text/plain").await;
    });
    assert!(matches!(reply.status, 404 | 412), "{} {}", reply.status, reply.text());
}

#[tokio::test]
async fn the_end_asked_for_ends_the_wait() {
    let node = TestNode::start().await;
    node.filled("/s", &["a"]).await;
    let begun = Instant::now();
    let reply = node.get("/s?offset=1&until=1&live=long-poll").await;
    assert_eq!((reply.status, reply.header("kelda-end")), (204, Some("true")));
    let past = node.get("/s?offset=1&until=2020-01-01T00:00:00Z&live=long-poll").await;
    assert_eq!((past.status, past.header("kelda-end")), (204, Some("true")));
    assert!(begun.elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn only_so_many_may_wait() {
    let node = TestNode::with(Options::flags(&["--max-parked-readers=2", "--long-poll-timeout=600ms"])).await;
    node.filled("/s", &["a"]).await;
    let (first, second, third) =
        tokio::join!(node.get("/s?offset=1&live=long-poll"), node.get("/s?offset=1&live=long-poll"), async {
            tokio::time::sleep(Duration::from_millis(200)).await;
            node.get("/s?offset=1&live=long-poll").await
        });
    assert_eq!((first.status, second.status), (204, 204));
    assert_eq!(third.refused(), (503, "overloaded".to_owned()));
    assert_eq!(third.header("retry-after"), Some("1"));
    assert_eq!(node.get("/s?offset=0&live=long-poll").await.status, 200, "whoever need not wait is served");
}

/// RFC 3339, so many milliseconds from now.
fn soon(ms: i64) -> String {
    let now = jiff::Timestamp::now();
    (now + jiff::SignedDuration::from_millis(ms)).to_string()
}

#[tokio::test]
async fn a_time_that_lies_ahead_ends_the_wait() {
    let node = TestNode::start().await;
    node.filled("/s", &["a"]).await;
    let reply = node.get(&format!("/s?offset=1&until={}&live=long-poll", soon(300))).await;
    assert_eq!((reply.status, reply.header("kelda-end")), (204, Some("true")));
    let mut events = node.events(&format!("/s?offset=1&until={}&live=sse", soon(600)), &[]).await;
    assert_eq!(events.control().await["keldaEnd"], serde_json::Value::Null);
    assert_eq!(events.control().await["keldaEnd"], true);
    events.end().await;
}
