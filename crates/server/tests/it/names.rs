//! Which paths are names, and which are refused.

use crate::support::{TestNode, exchange};

#[tokio::test]
async fn names_that_break_the_rules_are_refused_by_every_method() {
    let node = TestNode::start().await;
    let long = format!("/{}", "x".repeat(1025));
    for target in [
        "/a//b",
        "/a/",
        "//",
        "/%2e%2e/a",
        "/a/%2E%2E",
        "/a/%2e/b",
        "/a%00b",
        "/a%0Ab",
        "/a%7Fb",
        "/%FF%FE",
        &long,
    ] {
        for method in ["PUT", "POST", "GET", "HEAD", "DELETE", "PATCH"] {
            let reply = node.send(method, target, &[("content-type", "text/plain")], "").await;
            assert_eq!(reply.status, 400, "{method} {target}");
            if method != "HEAD" {
                assert_eq!(reply.code(), "invalid-name", "{method} {target}");
            }
        }
    }
    assert_eq!(node.get("/").await.json()["streams"], serde_json::json!([]));
}

#[tokio::test]
async fn dots_that_a_client_did_not_resolve_are_refused() {
    let node = TestNode::start().await;
    for target in ["/a/../b", "/./a", "/.."] {
        let request =
            format!("PUT {target} HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        let reply = exchange(node.address(), request.as_bytes()).await;
        assert!(reply.starts_with("HTTP/1.1 400") && reply.contains("invalid-name"), "{target}: {reply}");
    }
}

#[tokio::test]
async fn reserved_names_cannot_be_created() {
    let node = TestNode::start().await;
    for target in ["/__ds/subscriptions/x", "/__x", "/__vhost/a/b"] {
        let reply = node.send("PUT", target, &[], "").await;
        assert_eq!(reply.refused(), (400, "reserved-name".to_owned()), "{target}");
    }
    node.create("/a/__b", "text/plain").await;
}

#[tokio::test]
async fn unusual_names_that_are_fine() {
    let node = TestNode::start().await;
    let long = format!("/{}", "x".repeat(1024));
    for target in
        ["/%C3%A9t%C3%A9/%E6%97%A5", "/a%20b", "/...", "/a%3Fb%23c", "/a%25b", "/a+b", "/~a_b-c.d", &long]
    {
        node.create(target, "text/plain").await;
        node.append(target, target).await;
        assert_eq!(node.get(target).await.text(), target);
    }
    let names = node.get("/?prefix=a").await.json();
    let names: Vec<_> = names["streams"].as_array().unwrap().iter().map(|one| one["name"].clone()).collect();
    assert_eq!(names, ["a b", "a%b", "a+b", "a?b#c"], "in byte order");
    assert_eq!(node.get("/a%2Bb").await.text(), "/a+b", "two spellings of one name");
}

#[tokio::test]
async fn methods_that_do_not_exist() {
    let node = TestNode::start().await;
    let reply = node.send("TRACE", "/a", &[], "").await;
    assert_eq!(reply.refused(), (405, "method-not-allowed".to_owned()));
    assert!(reply.header("allow").unwrap().contains("PATCH"));
    let reply = node.send("PUT", "/", &[], "").await;
    assert_eq!(reply.refused(), (405, "method-not-allowed".to_owned()));
}
