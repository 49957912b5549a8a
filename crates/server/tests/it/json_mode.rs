//! Streams of JSON: messages come back byte for byte, and nothing else goes in.

use crate::support::TestNode;

async fn post(node: &TestNode, body: &str) -> crate::support::Reply {
    node.send("POST", "/j", &[("content-type", "application/json; charset=utf-8")], body.to_owned()).await
}

#[tokio::test]
async fn messages_come_back_byte_for_byte() {
    let node = TestNode::start().await;
    node.create("/j", "application/json").await;
    for body in [
        "{\"b\" : 1.0,  \"a\":1e2, \"b\":2}",
        "[ 1 , [2, 3] ,\n\"x\\u00e9\\/\" ]",
        "  null\n",
        "12345678901234567890.123456789",
    ] {
        assert_eq!(post(&node, body).await.status, 204, "{body}");
    }
    let reply = node.get("/j").await;
    assert_eq!(
        reply.text(),
        "[{\"b\" : 1.0,  \"a\":1e2, \"b\":2},1,[2, 3],\"x\\u00e9\\/\",null,12345678901234567890.123456789]"
    );
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert_eq!(reply.header("content-length"), Some(reply.body.len().to_string().as_str()));
    assert_eq!(reply.offset("stream-next-offset"), 6);
    assert_eq!(node.get("/j?offset=2&count=1").await.text(), "[[2, 3]]");
    assert_eq!(node.get("/j?offset=6").await.text(), "[]");
    assert_eq!(node.get("/j?offset=now").await.text(), "[]");
}

#[tokio::test]
async fn what_is_not_json_is_refused_whole() {
    let node = TestNode::start().await;
    node.create("/j", "application/json").await;
    for (body, code) in [
        ("{ invalid json }", "invalid-json"),
        ("[1, 2", "invalid-json"),
        ("[1] [2]", "invalid-json"),
        ("[1,]", "invalid-json"),
        ("\u{feff}1", "invalid-json"),
        ("  ", "invalid-json"),
        ("[]", "empty-array"),
        ("", "empty-body"),
    ] {
        assert_eq!(post(&node, body).await.refused(), (400, code.to_owned()), "{body:?}");
    }
    let many = format!("[{}1]", "1,".repeat(10_000));
    assert_eq!(post(&node, &many).await.refused(), (413, "too-many-records".to_owned()));
    let record = "{\"records\":[{\"body\":\"1\"},{\"body\":\"not json\"}]}";
    let reply =
        node.send("POST", "/j", &[("content-type", "application/vnd.kelda.records+json")], record).await;
    assert_eq!(reply.refused(), (400, "invalid-json".to_owned()), "also as records");
    assert_eq!(node.get("/j").await.text(), "[]");
}

#[tokio::test]
async fn an_array_may_create_an_empty_stream() {
    let node = TestNode::start().await;
    let reply = node.send("PUT", "/j", &[("content-type", "application/json")], "[]").await;
    assert_eq!((reply.status, reply.offset("stream-next-offset")), (201, 0));
    let reply = node.send("PUT", "/k", &[("content-type", "application/json")], "[1,2]").await;
    assert_eq!((reply.status, reply.offset("stream-next-offset")), (201, 2));
    let reply = node.send("PUT", "/l", &[("content-type", "application/json")], "[1,").await;
    assert_eq!(reply.refused(), (400, "invalid-json".to_owned()));
    assert_eq!(node.head("/l").await.status, 404);
}
