//! Seal: for ever, idempotent, with or without last records.

use futures::future::join_all;
use kelda_format::Offset;
use kelda_service::{AppendError, AppendRequest, Fact, Fault};

use crate::bench::{claim, plain, post, run, seal};

#[test]
fn a_sealed_stream_takes_no_more_records() {
    run(|bench| async move {
        let node = bench.start().await;
        node.created("a").await;
        node.append("a", plain("one")).await.unwrap();
        let last = node.append("a", AppendRequest { seal: true, ..plain("two") }).await.unwrap();
        assert_eq!((last.first, last.next, last.sealed), (Some(Offset(1)), Offset(2), true));
        for request in [plain("three"), AppendRequest { seal: true, ..plain("three") }] {
            let found = node.append("a", request).await.unwrap_err();
            assert_eq!(found, AppendError::Sealed { tail: Offset(2) });
            assert_eq!((found.code(), found.problem().status()), ("sealed", 409));
            assert_eq!(found.fields(), [("next_offset", Fact::Offset(Offset(2)))]);
        }
        let node = bench.restart_after_crash(node).await;
        assert!(node.head("a").unwrap().sealed);
        assert!(node.append("a", plain("three")).await.is_err());
        assert_eq!(node.texts("a").await, ["one", "two"]);
    });
}

#[test]
fn a_seal_without_records_is_idempotent_and_has_no_content_type() {
    run(|bench| async move {
        let node = bench.start().await;
        node.created("a").await;
        node.append("a", plain("one")).await.unwrap();
        for _ in 0..3 {
            let sealed =
                node.append("a", AppendRequest { seal: true, ..post("text/html", "") }).await.unwrap();
            assert_eq!((sealed.next, sealed.sealed), (Offset(1), true));
        }
        let node = bench.restart_cleanly(node).await;
        assert!(node.append("a", seal()).await.unwrap().sealed);
    });
}

#[test]
fn concurrent_seals_all_succeed_and_are_durable_when_they_do() {
    run(|bench| async move {
        let node = bench.start().await;
        node.created("a").await;
        let outcomes = join_all((0..5).map(|_| node.append("a", seal()))).await;
        assert!(outcomes.into_iter().all(|outcome| outcome.unwrap().sealed));
        let node = bench.restart_after_crash(node).await;
        assert!(node.head("a").unwrap().sealed);
    });
}

#[test]
fn the_retry_of_a_closing_append_succeeds() {
    run(|bench| async move {
        let node = bench.start().await;
        node.created("a").await;
        let closing = |text| AppendRequest { seal: true, producer: claim("p", 0, 0), ..plain(text) };
        let first = node.append("a", closing("final")).await.unwrap();
        assert_eq!((first.duplicate, first.producer), (false, Some((0, 0))));
        let node = bench.restart_after_crash(node).await;
        let again = node.append("a", closing("other body")).await.unwrap();
        assert!(again.duplicate && again.sealed);
        assert_eq!((again.first, again.next), (first.first, first.next));
        assert_eq!(node.texts("a").await, ["final"]);
        let other = AppendRequest { producer: claim("q", 0, 0), ..closing("x") };
        assert_eq!(node.append("a", other).await.unwrap_err().code(), "sealed");
        let next = AppendRequest { producer: claim("p", 0, 1), ..closing("x") };
        assert_eq!(node.append("a", next).await.unwrap_err().code(), "sealed");
    });
}

#[test]
fn a_seal_by_a_producer_without_records_is_remembered() {
    run(|bench| async move {
        let node = bench.start().await;
        node.created("a").await;
        let closing = || AppendRequest { producer: claim("p", 0, 0), ..seal() };
        assert!(!node.append("a", closing()).await.unwrap().duplicate);
        let again = node.append("a", closing()).await.unwrap();
        assert!(again.duplicate && again.sealed);
        let node = bench.restart_cleanly(node).await;
        assert!(node.append("a", closing()).await.unwrap().duplicate);
        let other = AppendRequest { producer: claim("q", 0, 0), ..seal() };
        assert_eq!(node.append("a", other).await.unwrap_err().code(), "sealed");
    });
}
