//! Trim.

use kelda_format::Offset;
use kelda_service::{Fact, Fault, TrimError};

use crate::bench::{Node, anybody, name, plain, run};

async fn trim(node: &Node, before: u64) -> Result<u64, TrimError> {
    node.service.trim(&anybody(), &name("a"), Offset(before), None).await.map(|info| info.start.0)
}

#[test]
fn records_before_an_offset_go_and_the_rest_stays() {
    run(|bench| async move {
        let node = bench.start().await;
        node.created("a").await;
        for text in ["zero", "one", "two"] {
            node.append("a", plain(text)).await.unwrap();
        }
        assert_eq!(trim(&node, 1).await.unwrap(), 1);
        assert_eq!(trim(&node, 0).await.unwrap(), 1, "the start never goes back");
        assert_eq!(node.texts("a").await, ["one", "two"]);
        assert_eq!(trim(&node, 3).await.unwrap(), 3, "up to the tail");
        assert!(node.texts("a").await.is_empty());
        assert_eq!(node.append("a", plain("three")).await.unwrap().first, Some(Offset(3)));
        let node = bench.restart_after_crash(node).await;
        assert_eq!(node.texts("a").await, ["three"]);
        assert_eq!(node.head("a").unwrap().start, Offset(3));
    });
}

#[test]
fn nothing_past_the_tail_is_trimmed() {
    run(|bench| async move {
        let node = bench.start().await;
        assert_eq!(trim(&node, 0).await.unwrap_err().code(), "not-found");
        node.created("a").await;
        node.append("a", plain("zero")).await.unwrap();
        let found = trim(&node, 2).await.unwrap_err();
        assert_eq!(found, TrimError::PastTail { asked: Offset(2), tail: Offset(1) });
        assert_eq!(found.fields(), [("next_offset", Fact::Offset(Offset(1)))]);
        assert_eq!(node.texts("a").await, ["zero"]);
    });
}
