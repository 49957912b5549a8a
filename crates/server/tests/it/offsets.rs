//! Offsets as text, and positions that are not there.

use crate::support::TestNode;

#[tokio::test]
async fn malformed_offsets_are_refused() {
    let node = TestNode::start().await;
    node.filled("/s", &["one"]).await;
    for offset in [
        "",
        "-2",
        "-0",
        "%2B1",
        "0,1",
        "0%201",
        "1.0",
        "0x1",
        "1e3",
        "NOW",
        "first",
        "18446744073709551616",
        "99999999999999999999999999",
        "0000000000000001_0000000000000000",
        "0_0",
        "..%2F1",
        "1%00",
        "1%0A",
    ] {
        for live in ["", "&live=long-poll", "&live=sse"] {
            let reply = node.get(&format!("/s?offset={offset}{live}")).await;
            assert_eq!(reply.refused(), (400, "invalid-offset".to_owned()), "{offset}{live}");
        }
    }
    assert_eq!(node.get("/s?offset=0&offset=0").await.status, 400);
}

#[tokio::test]
async fn every_spelling_of_a_position() {
    let node = TestNode::start().await;
    node.filled("/s", &["a", "b", "c"]).await;
    for (offset, text) in [
        ("-1", "abc"),
        ("0", "abc"),
        ("1", "bc"),
        ("00000000000000000002", "c"),
        ("0000000000000000_0000000000000002", "c"),
        ("3", ""),
        ("now", ""),
    ] {
        let reply = node.get(&format!("/s?offset={offset}")).await;
        assert_eq!((reply.status, reply.text()), (200, text), "{offset}");
        assert_eq!(reply.offset("stream-next-offset"), 3);
    }
}

#[tokio::test]
async fn a_position_past_the_tail_names_the_tail() {
    let node = TestNode::start().await;
    node.filled("/s", &["a", "b"]).await;
    for query in ["offset=3", "offset=18446744073709551615", "offset=3&live=long-poll", "offset=3&live=sse"] {
        let reply = node.get(&format!("/s?{query}")).await;
        assert_eq!(reply.refused(), (416, "offset-past-tail".to_owned()), "{query}");
        assert_eq!(reply.offset("stream-next-offset"), 2);
    }
}

#[tokio::test]
async fn a_position_that_is_gone_names_the_first_one_held() {
    let node = TestNode::start().await;
    node.filled("/s", &["a", "b", "c"]).await;
    let trimmed = node.send("PATCH", "/s", &[("kelda-trim-before", "2")], "").await;
    assert_eq!((trimmed.status, trimmed.offset("kelda-start-offset")), (204, 2));
    for query in ["offset=0", "offset=1&live=long-poll", "offset=0&live=sse"] {
        let reply = node.get(&format!("/s?{query}")).await;
        assert_eq!(reply.refused(), (410, "offset-gone".to_owned()), "{query}");
        assert_eq!(reply.offset("kelda-start-offset"), 2);
        assert_eq!(reply.json()["start_offset"], "00000000000000000002");
    }
    assert_eq!(node.get("/s").await.text(), "c", "the first record held");
    assert_eq!(node.get("/s?offset=2").await.text(), "c");
}
