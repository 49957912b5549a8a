//! Query parameters: wrong values of known ones are refused by name, unknown ones are ignored.

use crate::support::TestNode;

#[tokio::test]
async fn wrong_values_of_known_parameters() {
    let node = TestNode::start().await;
    node.filled("/s", &["one"]).await;
    for (query, parameter) in [
        ("from=0", "from"),
        ("from=yesterday", "from"),
        ("from=-1h", "from"),
        ("from=2026-13-01T00:00:00Z", "from"),
        ("tail=-1", "tail"),
        ("tail=x", "tail"),
        ("until=now", "until"),
        ("until=%zz", "until"),
        ("count=0", "count"),
        ("count=-1", "count"),
        ("bytes=0", "bytes"),
        ("bytes=1.5", "bytes"),
        ("live=poll&offset=0", "live"),
        ("live=true&offset=0", "live"),
        ("as=xml", "as"),
        ("offset=0&live=long-poll&cursor=abc", "cursor"),
        ("offset=0&from=first", "from"),
        ("offset=0&tail=1", "tail"),
        ("count=1&count=2", "count"),
    ] {
        let reply = node.get(&format!("/s?{query}")).await;
        assert_eq!(reply.refused(), (400, "invalid-parameter".to_owned()), "{query}");
        assert_eq!(reply.json()["parameter"], parameter, "{query}");
    }
    for query in ["limit=0", "limit=1001", "limit=x"] {
        let reply = node.get(&format!("/?{query}")).await;
        assert_eq!(reply.refused(), (400, "invalid-parameter".to_owned()), "{query}");
    }
    for live in ["long-poll", "sse"] {
        let reply = node.get(&format!("/s?live={live}")).await;
        assert_eq!(reply.status, 400, "a live read needs a start");
    }
}

#[tokio::test]
async fn unknown_parameters_are_ignored() {
    let node = TestNode::start().await;
    node.filled("/s", &["one"]).await;
    assert_eq!(node.get("/s?offset=-1&foo=bar&baz=qux&&=&_=1").await.text(), "one");
    assert_eq!(node.get("/?foo=bar").await.status, 200);
    assert_eq!(node.send("POST", "/s?foo=bar", &[("content-type", "text/plain")], "x").await.status, 204);
}

#[tokio::test]
async fn a_delete_with_any_parameter_is_refused() {
    let node = TestNode::start().await;
    node.filled("/s", &["one"]).await;
    for query in ["offset=1", "before=3", "x", ""] {
        let reply = node.send("DELETE", &format!("/s?{query}"), &[], "").await;
        assert_eq!(
            reply.refused(),
            (
                400,
                if query.starts_with("offset") { "invalid-offset" } else { "invalid-parameter" }.to_owned()
            ),
            "{query}"
        );
    }
    assert_eq!(node.get("/s").await.text(), "one");
    assert_eq!(node.send("DELETE", "/s", &[], "").await.status, 204);
    assert_eq!(node.send("DELETE", "/s", &[], "").await.refused(), (404, "not-found".to_owned()));
}
