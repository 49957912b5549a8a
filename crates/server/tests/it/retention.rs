//! Limits over HTTP: what they give up, and how a reader learns of it.

use std::time::Duration;

use crate::support::{Options, TestNode};

/// A clock that runs fast, so that the interval of retention passes at once.
fn fast() -> Options {
    // Small segments, which are made in a moment also by this clock.
    let flags = Options::flags(&["--retention-interval=1s"]);
    Options { speed: Some(5), segment_bytes: Some(1 << 20), ..flags }
}

async fn until_starts_after(node: &TestNode, path: &str, offset: u64) -> u64 {
    for _ in 0..2000 {
        let start = node.head(path).await.offset("kelda-start-offset");
        if start > offset {
            return start;
        }
        wait().await;
    }
    panic!("{path} still begins at or before {offset}");
}

/// A few milliseconds.
async fn wait() {
    use kelda_env::Clock as _;
    kelda_env::RealClock::new().sleep(Duration::from_millis(10)).await;
}

#[tokio::test]
async fn a_bound_in_bytes_gives_up_the_old_end_and_readers_learn_where_the_stream_begins() {
    let node = TestNode::with(fast()).await;
    let limits =
        [("content-type", "text/plain"), ("kelda-max-bytes", "20000"), ("kelda-segment-bytes", "10000")];
    assert_eq!(node.send("PUT", "/bounded", &limits, "").await.status, 201);
    node.send("PUT", "/free", &[("content-type", "text/plain")], "").await;
    let mut start = 0;
    // What is committed together is one segment, so that it takes several commits until one can go.
    for _ in 0..2000 {
        node.append("/bounded", &"x".repeat(6000)).await;
        node.append("/free", "y").await;
        start = node.head("/bounded").await.offset("kelda-start-offset");
        if start > 0 {
            break;
        }
        wait().await;
    }
    let gone = node.send("GET", "/bounded?offset=0", &[], "").await;
    assert_eq!(gone.refused(), (410, "offset-gone".to_owned()));
    let earliest: u64 = gone.json()["start_offset"].as_str().unwrap().parse().unwrap();
    assert!(earliest >= start && start > 0, "{earliest}, {start}");
    let first = node.send("GET", &format!("/bounded?offset={earliest}"), &[], "").await;
    assert_eq!(first.status, 200, "{}", first.text());
    let held: u64 = node.head("/bounded").await.header("kelda-bytes").unwrap().parse().unwrap();
    assert!(held >= 20_000, "{held} bytes are held");
    assert_eq!(node.head("/free").await.offset("kelda-start-offset"), 0);
}

#[tokio::test]
async fn an_idle_stream_ages_out() {
    let node = TestNode::with(fast()).await;
    let limits = [("content-type", "text/plain"), ("kelda-max-age", "5s")];
    node.send("PUT", "/s", &limits, "").await;
    node.append("/s", "one").await;
    node.append("/s", "two").await;
    assert_eq!(until_starts_after(&node, "/s", 0).await, 2, "both went, and the offsets stay");
    assert_eq!(node.append("/s", "three").await.offset("stream-next-offset"), 3);
}

#[tokio::test]
async fn a_changed_limit_is_applied_before_the_answer() {
    let mut node = TestNode::with(Options::flags(&["--retention-interval=1h"])).await;
    node.send("PUT", "/s", &[("content-type", "text/plain")], "").await;
    node.append("/s", "one").await;
    // A clean restart has everything committed.
    node.restart().await;
    wait().await;
    let reply = node.send("PATCH", "/s", &[("kelda-max-age", "1ms")], "").await;
    assert_eq!((reply.status, reply.offset("kelda-start-offset")), (204, 1));
}
