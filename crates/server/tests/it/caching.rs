//! Entity tags, and what may be kept how long.

use crate::support::TestNode;

#[tokio::test]
async fn a_tag_names_what_is_there() {
    let node = TestNode::start().await;
    node.filled("/s", &["one"]).await;
    let first = node.get("/s").await;
    let tag = first.header("etag").unwrap().to_owned();
    let again = node.send("GET", "/s", &[("if-none-match", &tag)], "").await;
    assert_eq!((again.status, again.body.len()), (304, 0));
    assert_eq!(again.header("etag"), Some(tag.as_str()));
    assert_eq!(again.offset("stream-next-offset"), 1);
    for wrong in ["\"x\"", "x", &tag.replace('"', "")] {
        assert_eq!(node.send("GET", "/s", &[("if-none-match", wrong)], "").await.status, 200, "{wrong}");
    }
    for right in ["*", &format!("\"x\", W/{tag}")] {
        assert_eq!(node.send("GET", "/s", &[("if-none-match", right)], "").await.status, 304, "{right}");
    }
    let records = node.send("GET", "/s?as=records", &[("if-none-match", &tag)], "").await;
    assert_eq!(records.status, 200, "another form is another content");
    node.append("/s", "two").await;
    assert_eq!(node.send("GET", "/s", &[("if-none-match", &tag)], "").await.text(), "onetwo");
}

#[tokio::test]
async fn closing_changes_the_tag() {
    let node = TestNode::start().await;
    node.filled("/s", &["one"]).await;
    let open = node.get("/s").await.header("etag").unwrap().to_owned();
    node.send("POST", "/s", &[("stream-closed", "true")], "").await;
    let reply = node.send("GET", "/s", &[("if-none-match", &open)], "").await;
    assert_eq!((reply.status, reply.header("stream-closed")), (200, Some("true")));
    let closed = reply.header("etag").unwrap().to_owned();
    let again = node.send("GET", "/s", &[("if-none-match", &closed)], "").await;
    assert_eq!((again.status, again.header("stream-closed")), (304, Some("true")));
    let partial = node.get("/s?count=1&offset=0").await;
    assert_eq!(partial.header("stream-closed"), Some("true"), "the end is reached");
}

#[tokio::test]
async fn only_what_stays_true_may_be_kept() {
    let node = TestNode::start().await;
    node.filled("/s", &["one", "two"]).await;
    let keep = "public, max-age=60, stale-while-revalidate=300";
    for (target, control, tagged) in [
        ("/s?offset=0", keep, true),
        ("/s?offset=-1", keep, true),
        ("/s?from=first", keep, true),
        ("/s?offset=0&live=long-poll", keep, false),
        ("/s", "no-cache", true),
        ("/s?offset=2", "no-cache", true),
        ("/s?tail=1", "no-store", true),
        ("/s?from=1h", "no-store", true),
        ("/s?from=last&live=long-poll", "no-store", false),
        ("/s?offset=now", "no-store", false),
        ("/", "no-store", false),
        ("/none", "no-store", false),
    ] {
        let reply = node.get(target).await;
        assert_eq!(reply.header("cache-control"), Some(control), "{target}");
        assert_eq!(reply.header("etag").is_some(), tagged, "{target}");
    }
    assert_eq!(node.head("/s").await.header("cache-control"), Some("no-store"));
    let vary = node.get("/s?offset=0").await.header("vary").unwrap().to_owned();
    assert!(vary.contains("Accept") && vary.contains("Origin"), "{vary}");
}
