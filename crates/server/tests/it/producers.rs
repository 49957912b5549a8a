//! Idempotent producers over HTTP: statuses and fields.

use crate::support::{Reply, TestNode};

async fn post(node: &TestNode, id: &str, epoch: &str, seq: &str, body: &str) -> Reply {
    node.post("/s", &[("producer-id", id), ("producer-epoch", epoch), ("producer-seq", seq)], body).await
}

#[tokio::test]
async fn a_repeat_is_acknowledged_with_the_offsets_of_the_original() {
    let node = TestNode::start().await;
    node.create("/s", "text/plain").await;
    for seq in 0..3 {
        let reply = post(&node, "p", "0", &seq.to_string(), &seq.to_string()).await;
        assert_eq!(reply.status, 200);
        assert_eq!((reply.header("producer-epoch"), reply.header("kelda-duplicate")), (Some("0"), None));
        assert_eq!(reply.header("producer-seq"), Some(seq.to_string().as_str()));
        assert_eq!(reply.offset("kelda-first-offset"), seq);
        assert!(reply.header("kelda-timestamp").is_some());
    }
    let reply = post(&node, "p", "0", "1", "anything").await;
    assert_eq!((reply.status, reply.header("kelda-duplicate")), (204, Some("true")));
    assert_eq!(reply.header("kelda-timestamp"), None, "the time of the original is not kept");
    assert_eq!((reply.offset("kelda-first-offset"), reply.offset("stream-next-offset")), (1, 2));
    assert_eq!(reply.header("producer-seq"), Some("2"), "the highest accepted");
    assert_eq!(node.get("/s").await.text(), "012");
}

#[tokio::test]
async fn stale_epochs_gaps_and_bad_starts() {
    let node = TestNode::start().await;
    node.create("/s", "text/plain").await;
    assert_eq!(post(&node, "p", "1", "0", "a").await.status, 200);
    let stale = post(&node, "p", "0", "1", "b").await;
    assert_eq!(stale.refused(), (403, "stale-epoch".to_owned()));
    assert_eq!((stale.header("producer-epoch"), &stale.json()["producer_epoch"]), (Some("1"), &1.into()));
    let gap = post(&node, "p", "1", "2", "b").await;
    assert_eq!(gap.refused(), (409, "sequence-gap".to_owned()));
    assert_eq!(gap.header("producer-expected-seq"), Some("1"));
    assert_eq!(gap.header("producer-received-seq"), Some("2"));
    let start = post(&node, "p", "2", "5", "b").await;
    assert_eq!(start.refused(), (400, "producer-start".to_owned()));
    let other = post(&node, "q", "0", "3", "b").await;
    assert_eq!(other.refused(), (409, "sequence-gap".to_owned()), "a new producer begins at 0 as well");
    assert_eq!(other.header("producer-expected-seq"), Some("0"));
    assert_eq!(node.get("/s").await.text(), "a");
}

#[tokio::test]
async fn malformed_producers() {
    let node = TestNode::start().await;
    node.create("/s", "text/plain").await;
    let long = "x".repeat(257);
    for headers in [
        &[("producer-id", "p")][..],
        &[("producer-epoch", "0")],
        &[("producer-seq", "0")],
        &[("producer-id", "p"), ("producer-epoch", "0")],
        &[("producer-id", "p"), ("producer-seq", "0")],
        &[("producer-id", ""), ("producer-epoch", "0"), ("producer-seq", "0")],
        &[("producer-id", long.as_str()), ("producer-epoch", "0"), ("producer-seq", "0")],
        &[("producer-id", "p"), ("producer-epoch", "-1"), ("producer-seq", "0")],
        &[("producer-id", "p"), ("producer-epoch", "0"), ("producer-seq", "1abc")],
        &[("producer-id", "p"), ("producer-epoch", "9007199254740992"), ("producer-seq", "0")],
        &[("producer-id", "p"), ("producer-epoch", "0"), ("producer-seq", "18446744073709551616")],
    ] {
        let reply = node.post("/s", headers, "x").await;
        assert_eq!(reply.refused(), (400, "invalid-producer".to_owned()), "{headers:?}");
    }
    assert_eq!(node.head("/s").await.offset("stream-next-offset"), 0);
    assert_eq!(post(&node, "p", "9007199254740991", "0", "x").await.status, 200, "the largest epoch");
}

#[tokio::test]
async fn requests_that_overtake_each_other_are_put_in_order() {
    let node = TestNode::start().await;
    node.create("/s", "text/plain").await;
    let posts = (0..8).rev().map(|seq| {
        let node = &node;
        async move { post(node, "p", "0", &seq.to_string(), &seq.to_string()).await }
    });
    let replies = futures::future::join_all(posts).await;
    assert!(
        replies.iter().all(|reply| reply.status == 200),
        "{:?}",
        replies.iter().map(|r| r.status).collect::<Vec<_>>()
    );
    assert_eq!(node.get("/s").await.text(), "01234567");
}

#[tokio::test]
async fn the_retry_of_a_closing_append_succeeds() {
    let node = TestNode::start().await;
    node.create("/s", "text/plain").await;
    let headers =
        [("stream-closed", "true"), ("producer-id", "p"), ("producer-epoch", "0"), ("producer-seq", "0")];
    let first = node.post("/s", &headers, "last").await;
    assert_eq!((first.status, first.header("stream-closed")), (200, Some("true")));
    let again = node.post("/s", &headers, "last").await;
    assert_eq!((again.status, again.header("stream-closed")), (204, Some("true")));
    assert_eq!(again.header("kelda-duplicate"), Some("true"));
    let next = post(&node, "p", "0", "1", "more").await;
    assert_eq!(next.refused(), (409, "sealed".to_owned()));
    assert_eq!(node.get("/s").await.text(), "last");
}
