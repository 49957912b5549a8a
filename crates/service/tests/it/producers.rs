//! Idempotent producers and `Stream-Seq`.

use bytes::Bytes;
use futures::future::join_all;
use kelda_format::Offset;
use kelda_service::{AppendError, AppendRequest, Fact, Fault};

use crate::bench::{claim, plain, run};

fn by(id: &str, epoch: u64, seq: u64, text: &str) -> AppendRequest {
    AppendRequest { producer: claim(id, epoch, seq), ..plain(text) }
}

#[test]
fn a_repeat_is_acknowledged_with_what_the_original_got() {
    run(|bench| async move {
        let node = bench.start().await;
        node.created("a").await;
        let first = node.append("a", by("p", 0, 0, "zero")).await.unwrap();
        node.append("a", plain("between")).await.unwrap();
        let second = node.append("a", by("p", 0, 1, "one")).await.unwrap();
        assert_eq!(second.producer, Some((0, 1)));
        let node = bench.restart_after_crash(node).await;
        let again = node.append("a", by("p", 0, 0, "zero")).await.unwrap();
        assert_eq!((again.duplicate, again.first, again.next), (true, first.first, first.next));
        assert_eq!(again.producer, Some((0, 1)), "the highest accepted sequence, not that of the request");
        let node = bench.restart_cleanly(node).await;
        let again = node.append("a", by("p", 0, 1, "one")).await.unwrap();
        assert_eq!((again.duplicate, again.first), (true, Some(Offset(2))));
        assert_eq!(node.texts("a").await, ["zero", "between", "one"]);
    });
}

#[test]
fn old_repeats_are_acknowledged_without_offsets() {
    run(|bench| async move {
        let node = bench.start().await;
        node.created("a").await;
        for seq in 0..12 {
            node.append("a", by("p", 0, seq, "x")).await.unwrap();
        }
        let kept = node.append("a", by("p", 0, 4, "x")).await.unwrap();
        assert_eq!((kept.duplicate, kept.first), (true, Some(Offset(4))));
        let old = node.append("a", by("p", 0, 3, "x")).await.unwrap();
        assert_eq!((old.duplicate, old.first, old.producer), (true, None, Some((0, 11))));
        assert_eq!(node.head("a").unwrap().next, Offset(12));
    });
}

#[test]
fn stale_epochs_gaps_and_bad_starts_are_refused() {
    run(|bench| async move {
        let node = bench.start().await;
        node.created("a").await;
        let found = node.append("a", by("p", 0, 3, "x")).await.unwrap_err();
        assert_eq!(found, AppendError::Gap { expected: 0, received: 3 });
        node.append("a", by("p", 1, 0, "x")).await.unwrap();
        let found = node.append("a", by("p", 0, 0, "x")).await.unwrap_err();
        assert_eq!((found.code(), found.problem().status()), ("stale-epoch", 403));
        assert_eq!(found.fields(), [("producer_epoch", Fact::Number(1))]);
        let found = node.append("a", by("p", 1, 2, "x")).await.unwrap_err();
        assert_eq!((found.code(), found.problem().status()), ("sequence-gap", 409));
        assert_eq!(found.fields(), [("expected_seq", Fact::Number(1)), ("received_seq", Fact::Number(2))]);
        let found = node.append("a", by("p", 2, 5, "x")).await.unwrap_err();
        assert_eq!((found.code(), found.problem().status()), ("producer-start", 400));
        node.append("a", by("p", 2, 0, "x")).await.unwrap();
        node.append("a", by("q", 0, 0, "x")).await.unwrap();
        assert_eq!(node.head("a").unwrap().next, Offset(3));
    });
}

#[test]
fn requests_that_overtake_each_other_wait_for_their_predecessors() {
    run(|bench| async move {
        let node = bench.start().await;
        node.created("a").await;
        let order = [3, 0, 2, 1, 5, 4];
        let outcomes = join_all(order.map(|seq| {
            let request = by("p", 0, seq, ["zero", "one", "two", "three", "four", "five"][seq as usize]);
            node.append("a", request)
        }));
        assert!(outcomes.await.into_iter().all(|outcome| outcome.is_ok()));
        assert_eq!(node.texts("a").await, ["zero", "one", "two", "three", "four", "five"]);
    });
}

#[test]
fn what_is_refused_does_not_count() {
    run(|bench| async move {
        let node = bench.start().await;
        node.created("a").await;
        let wrong_type = AppendRequest { content_type: Some("text/html".to_owned()), ..by("p", 0, 0, "x") };
        assert!(node.append("a", wrong_type).await.is_err());
        let wrong_tail = AppendRequest { match_offset: Some(Offset(7)), ..by("p", 0, 0, "x") };
        assert!(node.append("a", wrong_tail).await.is_err());
        assert!(!node.append("a", by("p", 0, 0, "x")).await.unwrap().duplicate);
    });
}

#[test]
fn claims_that_cannot_be_are_refused() {
    run(|bench| async move {
        let node = bench.start().await;
        node.created("a").await;
        let long = "p".repeat(257);
        for (id, epoch, seq) in
            [("", 0, 0), (long.as_str(), 0, 0), ("p", 1 << 53, 0), ("p", 0, 1 << 53), ("p", u64::MAX, 0)]
        {
            let found = node.append("a", by(id, epoch, seq, "x")).await.unwrap_err();
            assert_eq!(
                (found.code(), found.problem().status()),
                ("invalid-producer", 400),
                "{id} {epoch} {seq}"
            );
        }
        let largest = (1 << 53) - 1;
        assert!(node.append("a", by(&"p".repeat(256), largest, 0, "x")).await.is_ok());
    });
}

#[test]
fn a_stream_seq_rises_byte_by_byte() {
    run(|bench| async move {
        let node = bench.start().await;
        node.created("a").await;
        let with = |seq: &str| AppendRequest {
            stream_seq: Some(Bytes::copy_from_slice(seq.as_bytes())),
            ..plain("x")
        };
        for seq in ["09", "10", "a", "b"] {
            node.append("a", with(seq)).await.unwrap();
        }
        for seq in ["b", "a", "B", "2"] {
            let found = node.append("a", with(seq)).await.unwrap_err();
            assert_eq!((found.code(), found.problem().status()), ("stream-seq", 409), "{seq}");
            assert_eq!(found.fields(), [("last_seq", Fact::Text("b".to_owned()))]);
        }
        node.append("a", plain("without")).await.unwrap();
        let node = bench.restart_after_crash(node).await;
        assert!(node.append("a", with("aa")).await.is_err());
        node.append("a", with("ba")).await.unwrap();
        let node = bench.restart_cleanly(node).await;
        assert!(node.append("a", with("ba")).await.is_err());
        assert_eq!(node.append("a", with("")).await.unwrap_err().code(), "invalid-header");
        assert_eq!(node.append("a", with(&"z".repeat(257))).await.unwrap_err().code(), "invalid-header");
    });
}

#[test]
fn the_repeat_of_a_producer_comes_before_the_stream_seq() {
    run(|bench| async move {
        let node = bench.start().await;
        node.created("a").await;
        let request = || AppendRequest { stream_seq: Some(Bytes::from_static(b"s1")), ..by("p", 0, 0, "x") };
        node.append("a", request()).await.unwrap();
        assert!(node.append("a", request()).await.unwrap().duplicate);
    });
}
