//! What browsers are told: preflights, origins, and no guessing.

use crate::support::TestNode;

#[tokio::test]
async fn a_preflight_lists_what_clients_send() {
    let node = TestNode::start().await;
    let headers = [
        ("origin", "https://app.example"),
        ("access-control-request-method", "PATCH"),
        ("access-control-request-headers", "if-none-match,producer-id,kelda-trim-before"),
    ];
    for target in ["/any/stream", "/"] {
        let reply = node.send("OPTIONS", target, &headers, "").await;
        assert_eq!(reply.status, 204);
        assert_eq!(reply.header("access-control-allow-origin"), Some("*"));
        let allowed = reply.header("access-control-allow-headers").unwrap().to_ascii_lowercase();
        for name in [
            "if-none-match",
            "content-type",
            "accept",
            "authorization",
            "producer-id",
            "producer-epoch",
            "producer-seq",
            "stream-seq",
            "stream-ttl",
            "stream-expires-at",
            "stream-closed",
            "kelda-match-offset",
            "kelda-if-stream-id",
            "kelda-trim-before",
            "kelda-max-age",
            "kelda-max-bytes",
            "kelda-segment-bytes",
        ] {
            assert!(allowed.split(", ").any(|allowed| allowed == name), "{name}");
        }
        for method in ["GET", "HEAD", "PUT", "POST", "PATCH", "DELETE"] {
            assert!(reply.header("access-control-allow-methods").unwrap().contains(method), "{method}");
        }
    }
}

#[tokio::test]
async fn every_field_that_a_reply_has_may_be_read_across_origins() {
    let node = TestNode::start().await;
    let origin = ("origin", "https://app.example");
    let plain = ("content-type", "text/plain");
    let producer = [("producer-id", "p"), ("producer-epoch", "0")];
    let mut replies = vec![
        node.send("PUT", "/s", &[origin, plain, ("stream-ttl", "60"), ("kelda-max-age", "1d")], "a").await,
        node.send("POST", "/s", &[origin, plain, producer[0], producer[1], ("producer-seq", "0")], "b").await,
        node.send("POST", "/s", &[origin, plain, producer[0], producer[1], ("producer-seq", "9")], "b").await,
        node.send("POST", "/s", &[origin, plain, ("kelda-match-offset", "9")], "b").await,
        node.send("GET", "/s?count=1", &[origin], "").await,
        node.send("GET", "/s?offset=0&live=long-poll", &[origin], "").await,
        node.send("HEAD", "/s", &[origin], "").await,
        node.send("GET", "/none", &[origin], "").await,
    ];
    replies.push(node.send("POST", "/s", &[origin, ("stream-closed", "true")], "").await);
    replies.push(node.send("GET", "/s", &[origin], "").await);
    replies.push(node.send("DELETE", "/s", &[origin], "").await);
    for reply in replies {
        assert_eq!(reply.header("access-control-allow-origin"), Some("*"));
        let exposed = reply.header("access-control-expose-headers").unwrap().to_ascii_lowercase();
        for name in reply.headers.keys().map(axum::http::HeaderName::as_str) {
            let ours = ["stream-", "producer-", "kelda-", "etag", "location", "retry-after"];
            if ours.iter().any(|prefix| name.starts_with(prefix)) {
                assert!(exposed.split(", ").any(|exposed| exposed == name), "{name} cannot be read");
            }
        }
    }
}

#[tokio::test]
async fn no_reply_may_be_sniffed() {
    let node = TestNode::start().await;
    node.filled("/s", &["a"]).await;
    for (method, target) in [
        ("GET", "/s"),
        ("HEAD", "/s"),
        ("GET", "/none"),
        ("GET", "/s?offset=x"),
        ("GET", "/"),
        ("OPTIONS", "/s"),
        ("GET", "/s?offset=0&live=long-poll"),
        ("PUT", "/a//b"),
        ("TRACE", "/s"),
        ("DELETE", "/s"),
    ] {
        let reply = node.send(method, target, &[], "").await;
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"), "{method} {target}");
        assert_eq!(reply.header("cross-origin-resource-policy"), Some("cross-origin"), "{method} {target}");
        assert_eq!(reply.header("access-control-allow-origin"), None, "only for requests from an origin");
    }
}
