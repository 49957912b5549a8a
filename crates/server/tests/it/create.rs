//! PUT: a stream is there afterwards, as asked for or not at all.

use crate::support::TestNode;

#[tokio::test]
async fn a_new_stream_says_what_and_where_it_is() {
    let node = TestNode::start().await;
    let headers = [
        ("content-type", "text/plain; charset=utf-8"),
        ("stream-ttl", "3600"),
        ("kelda-max-age", "7d"),
        ("kelda-max-bytes", "1000000"),
    ];
    let reply = node.send("PUT", "/a%20b/c", &headers, "one").await;
    assert_eq!(reply.status, 201);
    assert_eq!(reply.header("location"), Some(node.url("/a%20b/c").as_str()));
    assert_eq!(reply.header("content-type"), Some("text/plain; charset=utf-8"));
    assert_eq!(reply.offset("stream-next-offset"), 1);
    assert_eq!(reply.offset("kelda-first-offset"), 0);
    assert_eq!(reply.header("stream-ttl"), Some("3600"));
    assert_eq!(reply.header("kelda-max-age"), Some("7d"));
    assert_eq!(reply.header("kelda-max-bytes"), Some("1000000"));
    assert_eq!(reply.header("kelda-segment-bytes"), None, "absent, not stamped");
    assert!(reply.header("kelda-stream-id").is_some());
    assert_eq!(reply.body.len(), 0);
}

#[tokio::test]
async fn the_same_again_is_the_same_stream_and_appends_nothing() {
    let node = TestNode::start().await;
    let first =
        node.send("PUT", "/s", &[("content-type", "text/plain"), ("kelda-max-age", "24h")], "one").await;
    let again =
        node.send("PUT", "/s", &[("content-type", "TEXT/plain"), ("kelda-max-age", "1d")], "two").await;
    assert_eq!((first.status, again.status), (201, 200));
    assert_eq!(again.header("location"), None);
    assert_eq!(again.header("kelda-stream-id"), first.header("kelda-stream-id"));
    assert_eq!(again.header("kelda-first-offset"), None);
    assert_eq!(again.offset("stream-next-offset"), 1);
    assert_eq!(node.get("/s").await.text(), "one");
    let silent = node.send("PUT", "/s", &[], "").await;
    assert_eq!(silent.status, 200, "an absent field is no opinion");
}

#[tokio::test]
async fn another_configuration_conflicts_and_names_the_fields() {
    let node = TestNode::start().await;
    node.send(
        "PUT",
        "/s",
        &[("content-type", "text/plain"), ("stream-ttl", "60"), ("kelda-max-age", "7d")],
        "",
    )
    .await;
    for (headers, field) in [
        (&[("content-type", "application/json"), ("stream-ttl", "60")][..], "content_type"),
        (&[("content-type", "text/plain"), ("stream-ttl", "61")], "expiry"),
        (&[("content-type", "text/plain")], "expiry"),
        (&[("content-type", "text/plain"), ("stream-ttl", "60"), ("kelda-max-age", "8d")], "max_age"),
        (&[("content-type", "text/plain"), ("stream-ttl", "60"), ("kelda-max-bytes", "5")], "max_bytes"),
        (&[("content-type", "text/plain"), ("stream-ttl", "60"), ("stream-closed", "true")], "sealed"),
    ] {
        let reply = node.send("PUT", "/s", headers, "lost").await;
        assert_eq!(reply.refused(), (409, "config-conflict".to_owned()), "{field}");
        let differences = reply.json()["differences"].clone();
        let fields: Vec<_> = differences.as_array().unwrap().iter().map(|one| one["field"].clone()).collect();
        assert_eq!(fields, [field]);
        assert!(differences[0]["existing"].is_string() && differences[0]["requested"].is_string());
        assert_eq!(reply.header("stream-ttl"), Some("60"), "the configuration in force");
        assert_eq!(reply.header("kelda-max-age"), Some("7d"));
        assert_eq!(reply.offset("stream-next-offset"), 0);
    }
    assert_eq!(node.get("/s").await.text(), "");
}

#[tokio::test]
async fn a_sealed_stream_in_one_request() {
    let node = TestNode::start().await;
    let headers = [("content-type", "text/plain"), ("stream-closed", "true")];
    let reply = node.send("PUT", "/done", &headers, "all of it").await;
    assert_eq!((reply.status, reply.header("stream-closed")), (201, Some("true")));
    assert_eq!(node.send("PUT", "/done", &headers, "all of it").await.status, 200);
    let open = node.send("PUT", "/done", &headers[..1], "").await;
    assert_eq!(open.refused(), (409, "config-conflict".to_owned()));
    assert_eq!(open.header("stream-closed"), Some("true"));
    assert_eq!(node.get("/done").await.text(), "all of it");
}

#[tokio::test]
async fn wrong_values_are_refused_and_create_nothing() {
    let node = TestNode::start().await;
    for (headers, code) in [
        (&[("stream-ttl", "abc")][..], "invalid-header"),
        (&[("stream-ttl", "-1")], "invalid-header"),
        (&[("stream-ttl", "+60")], "invalid-header"),
        (&[("stream-ttl", "00060")], "invalid-header"),
        (&[("stream-ttl", "60.5")], "invalid-header"),
        (&[("stream-ttl", "1e3")], "invalid-header"),
        (&[("stream-expires-at", "tomorrow")], "invalid-header"),
        (&[("stream-ttl", "1"), ("stream-expires-at", "2030-01-01T00:00:00Z")], "invalid-config"),
        (&[("content-type", "not a type")], "invalid-config"),
        (&[("content-type", "application/vnd.kelda.records")], "invalid-header"),
        (&[("kelda-max-age", "7")], "invalid-header"),
        (&[("kelda-max-bytes", "0")], "invalid-header"),
        (&[("kelda-segment-bytes", "1MB")], "invalid-header"),
        (&[("kelda-if-stream-id", "x")], "invalid-header"),
    ] {
        let reply = node.send("PUT", "/s", headers, "").await;
        assert_eq!(reply.refused(), (400, code.to_owned()), "{headers:?}");
    }
    assert_eq!(node.head("/s").await.status, 404);
}

#[tokio::test]
async fn a_fork_is_not_made_into_a_plain_stream() {
    let node = TestNode::start().await;
    node.create("/source", "text/plain").await;
    let reply = node.send("PUT", "/fork", &[("stream-forked-from", "/source")], "").await;
    assert_eq!(reply.refused(), (501, "not-implemented".to_owned()));
    assert_eq!(node.head("/fork").await.status, 404);
}

#[tokio::test]
async fn one_of_many_creators_wins() {
    let node = TestNode::start().await;
    let puts = (0..16).map(|n| node.send("PUT", "/race", &[("content-type", "text/plain")], format!("{n}")));
    let replies = futures::future::join_all(puts).await;
    assert_eq!(replies.iter().filter(|reply| reply.status == 201).count(), 1);
    assert!(replies.iter().all(|reply| matches!(reply.status, 200 | 201)));
    let won = replies.iter().position(|reply| reply.status == 201).unwrap();
    assert_eq!(node.get("/race").await.text(), won.to_string());
}
