//! What a restart keeps.

use crate::support::{Options, TestNode, start_in};

#[tokio::test]
async fn a_clean_restart_keeps_everything() {
    let mut node = TestNode::start().await;
    node.filled("/s", &["a", "b"]).await;
    let producer = [("producer-id", "p"), ("producer-epoch", "0"), ("producer-seq", "0")];
    assert_eq!(node.post("/s", &producer, "c").await.status, 200);
    node.send("PUT", "/done", &[("content-type", "text/plain"), ("stream-closed", "true")], "x").await;
    node.send("PATCH", "/s", &[("kelda-trim-before", "1")], "").await;
    let before = node.head("/s").await;
    node.restart().await;
    let after = node.head("/s").await;
    for name in [
        "kelda-stream-id",
        "stream-next-offset",
        "kelda-start-offset",
        "content-type",
        "kelda-newest",
        "kelda-created",
    ] {
        assert_eq!(before.header(name), after.header(name), "{name}");
    }
    assert_eq!(node.get("/s").await.text(), "bc");
    let again = node.post("/s", &producer, "c").await;
    assert_eq!((again.status, again.offset("kelda-first-offset")), (204, 2), "the producer is known");
    assert_eq!(node.append("/s", "d").await.offset("kelda-first-offset"), 3);
    assert_eq!(node.head("/s").await.header("kelda-epoch"), Some("1"), "opened once more");
    assert_eq!(node.get("/done").await.header("stream-closed"), Some("true"));
}

#[tokio::test]
async fn a_node_that_was_dropped_recovers_what_it_acknowledged() {
    let mut node = TestNode::start().await;
    node.filled("/s", &["a", "b", "c"]).await;
    // No stop: the parts are dropped where they are, as at a crash.
    drop(node.node.take());
    let started = loop {
        match start_in(node.dir.path(), &Options::default()).await {
            Ok(started) => break started,
            Err(kelda_server::node::StartError::InUse { .. }) => {
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
            // A crash ends all tasks at once. Here one of the dropped node may still be at work, find its session fenced and
            // register the next one, which fences the one that starts.
            Err(error) if error.to_string().contains("is Fenced") => {}
            Err(error) => panic!("{error}"),
        }
    };
    node.node = Some(started.0);
    assert_eq!(node.get("/s").await.text(), "abc");
}
