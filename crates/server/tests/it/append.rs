//! POST: records are there afterwards.

use crate::support::TestNode;

#[tokio::test]
async fn an_append_says_what_it_got() {
    let node = TestNode::start().await;
    let created = node.create("/s", "text/plain").await;
    let reply = node.append("/s", "one").await;
    assert_eq!((reply.offset("kelda-first-offset"), reply.offset("stream-next-offset")), (0, 1));
    assert_eq!(reply.header("kelda-stream-id"), created.header("kelda-stream-id"));
    assert!(reply.header("kelda-timestamp").unwrap().parse::<u64>().unwrap() > 1_700_000_000_000);
    assert_eq!(reply.header("kelda-duplicate"), None);
    let reply = node.append("/s", "two").await;
    assert_eq!((reply.offset("kelda-first-offset"), reply.offset("stream-next-offset")), (1, 2));
    assert_eq!(node.get("/s").await.text(), "onetwo");
}

#[tokio::test]
async fn what_cannot_be_appended() {
    let node = TestNode::start().await;
    node.create("/s", "text/plain").await;
    for (target, headers, body, refused) in [
        ("/none", &[("content-type", "text/plain")][..], "x", (404, "not-found")),
        ("/s", &[("content-type", "text/plain")], "", (400, "empty-body")),
        ("/s", &[], "x", (400, "missing-content-type")),
        ("/s", &[("content-type", "")], "x", (400, "missing-content-type")),
        ("/s", &[("content-type", "application/json")], "{}", (409, "content-type-mismatch")),
        ("/s", &[("content-type", "text/plain"), ("kelda-match-offset", "x")], "x", (400, "invalid-header")),
        (
            "/s",
            &[("content-type", "text/plain"), ("kelda-if-stream-id", "999")],
            "x",
            (412, "stream-id-mismatch"),
        ),
        ("/s", &[("content-type", "text/plain"), ("stream-seq", "")], "x", (400, "invalid-header")),
        ("/s", &[("content-type", "application/vnd.kelda.records+json")], "{", (400, "invalid-body")),
        (
            "/s",
            &[("content-type", "application/vnd.kelda.records+json")],
            "{\"records\":[]}",
            (400, "empty-body"),
        ),
        ("/s", &[("content-type", "application/vnd.kelda.records")], "x", (400, "invalid-body")),
    ] {
        let reply = node.send("POST", target, headers, body).await;
        assert_eq!(reply.refused(), (refused.0, refused.1.to_owned()), "{target} {headers:?} {body:?}");
    }
    assert_eq!(node.head("/s").await.offset("stream-next-offset"), 0);
    assert_eq!(node.head("/none").await.status, 404, "a refused append creates nothing");
}

#[tokio::test]
async fn a_conditional_append_needs_the_tail() {
    let node = TestNode::start().await;
    node.filled("/s", &["one"]).await;
    let wrong = node.post("/s", &[("kelda-match-offset", "0")], "x").await;
    assert_eq!(wrong.refused(), (412, "match-offset".to_owned()));
    assert_eq!(wrong.offset("stream-next-offset"), 1);
    assert_eq!(wrong.json()["next_offset"], "00000000000000000001");
    let right = node.post("/s", &[("kelda-match-offset", "00000000000000000001")], "two").await;
    assert_eq!(right.status, 204);
    assert_eq!(node.get("/s").await.text(), "onetwo");
}

#[tokio::test]
async fn a_sealed_stream_takes_nothing_more() {
    let node = TestNode::start().await;
    node.filled("/s", &["one"]).await;
    let sealed = node.post("/s", &[("stream-closed", "true")], "two").await;
    assert_eq!((sealed.status, sealed.header("stream-closed")), (204, Some("true")));
    for _ in 0..2 {
        let again = node.send("POST", "/s", &[("stream-closed", "true")], "").await;
        assert_eq!(
            (again.status, again.header("stream-closed")),
            (204, Some("true")),
            "sealing twice is no error"
        );
        assert_eq!(again.offset("stream-next-offset"), 2);
        assert_eq!(again.header("kelda-first-offset"), None);
    }
    let refused = node.send("POST", "/s", &[("content-type", "application/json")], "{}").await;
    assert_eq!(refused.refused(), (409, "sealed".to_owned()), "sealed comes before the content type");
    assert_eq!((refused.header("stream-closed"), refused.offset("stream-next-offset")), (Some("true"), 2));
    assert_eq!(node.get("/s").await.text(), "onetwo");
}

#[tokio::test]
async fn a_sequence_of_the_writer_has_to_grow() {
    let node = TestNode::start().await;
    node.create("/s", "text/plain").await;
    for (seq, status) in [("2", 204), ("10", 409), ("2", 409), ("20", 204), ("a", 204), ("B", 409)] {
        let reply = node.post("/s", &[("stream-seq", seq)], seq).await;
        assert_eq!(reply.status, status, "{seq}");
        if status == 409 {
            assert_eq!(reply.code(), "stream-seq");
        }
    }
    assert_eq!(node.get("/s").await.text(), "220a");
}

#[tokio::test]
async fn a_name_that_was_used_again_is_another_stream() {
    let node = TestNode::start().await;
    let old = node.create("/s", "text/plain").await.header("kelda-stream-id").unwrap().to_owned();
    assert_eq!(node.send("DELETE", "/s", &[], "").await.status, 204);
    let new = node.create("/s", "text/plain").await.header("kelda-stream-id").unwrap().to_owned();
    assert_ne!(old, new);
    let refused = node.post("/s", &[("kelda-if-stream-id", &old)], "x").await;
    assert_eq!(refused.refused(), (412, "stream-id-mismatch".to_owned()));
    assert_eq!(refused.header("kelda-stream-id"), Some(new.as_str()), "the current one");
    assert_eq!(node.post("/s", &[("kelda-if-stream-id", &new)], "x").await.status, 204);
    for method in ["GET", "HEAD", "DELETE", "PATCH", "PUT"] {
        let headers = [("kelda-if-stream-id", old.as_str()), ("kelda-max-age", "1d")];
        assert_eq!(node.send(method, "/s", &headers, "").await.status, 412, "{method}");
    }
}

#[tokio::test]
async fn a_body_in_many_pieces_is_one_record() {
    use tokio::io::AsyncWriteExt;
    let node = TestNode::start().await;
    node.create("/s", "text/plain").await;
    let mut stream = tokio::net::TcpStream::connect(node.address()).await.unwrap();
    let head = "POST /s HTTP/1.1\r\nhost: x\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    for n in 0..20 {
        stream.write_all(format!("4\r\n{n:04}\r\n").as_bytes()).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    stream.write_all(b"0\r\n\r\n").await.unwrap();
    let reply = crate::support::read_all(&mut stream).await;
    assert!(reply.starts_with("HTTP/1.1 204"), "{reply}");
    assert_eq!(node.head("/s").await.offset("stream-next-offset"), 1);
    let meant: String = (0..20).map(|n| format!("{n:04}")).collect();
    assert_eq!(node.get("/s").await.text(), meant);
}

#[tokio::test]
async fn an_encoded_body_is_refused() {
    let node = TestNode::start().await;
    node.create("/s", "text/plain").await;
    let reply = node.post("/s", &[("content-encoding", "gzip")], "a").await;
    assert_eq!(reply.refused(), (400, "invalid-header".to_owned()));
    assert_eq!(node.post("/s", &[("content-encoding", "identity")], "a").await.status, 204);
    let reply = node.send("PUT", "/t", &[("content-encoding", "br")], "a").await;
    assert_eq!(reply.refused(), (400, "invalid-header".to_owned()));
}
