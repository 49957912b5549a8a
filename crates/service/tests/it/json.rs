//! JSON mode.

use kelda_service::{AppendRequest, Fault};

use crate::bench::{post, put, records, run};

#[test]
fn values_come_back_byte_for_byte_one_record_each() {
    run(|bench| async move {
        let node = bench.start().await;
        node.create(put("a", "application/json; charset=utf-8")).await.unwrap();
        let json = |text: &str| post("application/json", text);
        assert_eq!(node.append("a", json(" {\"b\":1.0,\n \"a\": 2} ")).await.unwrap().next.0, 1);
        let flat = node.append("a", json("[1, [2,3], {\"x\": [4]}]")).await.unwrap();
        assert_eq!((flat.first.unwrap().0, flat.next.0), (1, 4));
        node.append("a", json("[[\"nested\"]]")).await.unwrap();
        assert_eq!(
            node.texts("a").await,
            ["{\"b\":1.0,\n \"a\": 2}", "1", "[2,3]", "{\"x\": [4]}", "[\"nested\"]"]
        );
    });
}

#[test]
fn what_is_not_json_is_refused_as_a_whole() {
    run(|bench| async move {
        let node = bench.start().await;
        node.create(put("a", "application/json")).await.unwrap();
        for text in ["{ invalid json }", "[1, 2", "[1, oops]", "1 2", "\u{0}"] {
            let found = node.append("a", post("application/json", text)).await.unwrap_err();
            assert_eq!((found.code(), found.problem().status()), ("invalid-json", 400), "{text}");
        }
        let found = node.append("a", post("application/json", "[]")).await.unwrap_err();
        assert_eq!(found.code(), "empty-array");
        let cut = AppendRequest { content: records(&["1", "oops"]), ..AppendRequest::default() };
        assert_eq!(node.append("a", cut).await.unwrap_err().code(), "invalid-json");
        assert_eq!(node.head("a").unwrap().next.0, 0);
    });
}
