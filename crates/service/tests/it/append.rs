//! Appends: atomic, conditional, checked in the order duplicate, sealed, content type, match-offset (P16).

use bytes::Bytes;
use futures::future::join_all;
use kelda_format::{Batch, LimitError, Offset, StreamId};
use kelda_service::{AppendError, AppendRequest, Content, ContentError, Fact, Fault, LookupError};

use crate::bench::{claim, plain, post, put, records, run, seal};

#[test]
fn records_get_consecutive_offsets_and_survive_a_crash() {
    run(|bench| async move {
        let node = bench.start().await;
        let stream = node.created("a").await.stream;
        let one = node.append("a", plain("one")).await.unwrap();
        assert_eq!((one.stream, one.first, one.next), (stream, Some(Offset(0)), Offset(1)));
        assert!(!one.duplicate && !one.sealed && one.producer.is_none());
        let batch = AppendRequest { content: records(&["two", "", "four"]), ..AppendRequest::default() };
        let two = node.append("a", batch).await.unwrap();
        assert_eq!((two.first, two.next), (Some(Offset(1)), Offset(4)));
        assert!(two.timestamp >= one.timestamp);
        let node = bench.restart_after_crash(node).await;
        assert_eq!(node.texts("a").await, ["one", "two", "", "four"]);
        assert_eq!(node.append("a", plain("five")).await.unwrap().first, Some(Offset(4)));
    });
}

#[test]
fn concurrent_appends_all_land_once() {
    run(|bench| async move {
        let node = bench.start().await;
        node.created("a").await;
        let bodies: Vec<String> = (0..50).map(|n| format!("record {n}")).collect();
        let receipts = join_all(bodies.iter().map(|body| node.append("a", plain(body)))).await;
        let mut firsts: Vec<u64> = receipts.into_iter().map(|r| r.unwrap().first.unwrap().0).collect();
        firsts.sort_unstable();
        assert_eq!(firsts, (0..50).collect::<Vec<u64>>());
        let mut found = node.texts("a").await;
        found.sort_unstable();
        let mut expected = bodies.clone();
        expected.sort_unstable();
        assert_eq!(found, expected);
    });
}

#[test]
fn names_without_a_stream_are_not_found() {
    run(|bench| async move {
        let node = bench.start().await;
        let found = node.append("a", plain("x")).await.unwrap_err();
        assert!(matches!(found, AppendError::Lookup(LookupError::NotFound { .. })));
        assert_eq!(found.code(), "not-found");
        assert_eq!(node.append("a", seal()).await.unwrap_err().code(), "not-found");
    });
}

#[test]
fn an_append_needs_something_to_append() {
    run(|bench| async move {
        let node = bench.start().await;
        node.created("a").await;
        for content in [Content::Empty, Content::Body(Bytes::new()), Content::Records(Batch::empty())] {
            let request = AppendRequest { content, ..AppendRequest::default() };
            assert_eq!(node.append("a", request).await.unwrap_err(), ContentError::EmptyBody.into());
        }
    });
}

#[test]
fn too_much_is_refused() {
    run(|bench| async move {
        let node = bench.start().await;
        node.created("a").await;
        let large = Bytes::from(vec![0; (128 << 20) + 1]);
        let request = AppendRequest { content: Content::Body(large), ..AppendRequest::default() };
        let found = node.append("a", request).await.unwrap_err();
        assert!(matches!(found, AppendError::Content(ContentError::Limit(LimitError::RecordBytes { .. }))));
        assert_eq!((found.code(), found.problem().status()), ("too-large", 413));
    });
}

#[test]
fn the_content_type_has_to_match_by_meaning() {
    run(|bench| async move {
        let node = bench.start().await;
        node.created("a").await;
        node.append("a", post("TEXT/PLAIN; charset=utf-8", "x")).await.unwrap();
        let found = node.append("a", post("application/json", "not json")).await.unwrap_err();
        assert_eq!(found.code(), "content-type-mismatch");
        assert_eq!(found.fields(), [("content_type", Fact::Text("text/plain".to_owned()))]);
        node.create(put("j", "application/json")).await.unwrap();
        let found = node.append("j", post("text/plain", "not json")).await.unwrap_err();
        assert_eq!(found.code(), "content-type-mismatch", "not invalid JSON");
    });
}

#[test]
fn a_conditional_append_needs_its_tail() {
    run(|bench| async move {
        let node = bench.start().await;
        node.created("a").await;
        let at = |offset, text| AppendRequest { match_offset: Some(Offset(offset)), ..plain(text) };
        node.append("a", at(0, "zero")).await.unwrap();
        for wrong in [0, 2, u64::MAX] {
            let found = node.append("a", at(wrong, "x")).await.unwrap_err();
            assert_eq!(found, AppendError::MatchOffset { tail: Offset(1), asked: Offset(wrong) });
            assert_eq!(found.fields(), [("next_offset", Fact::Offset(Offset(1)))]);
        }
        node.append("a", at(1, "one")).await.unwrap();
        let racers = join_all((0..10).map(|n| node.append("a", at(2, if n == 0 { "x" } else { "y" })))).await;
        assert_eq!(racers.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    });
}

#[test]
fn the_order_of_checks() {
    run(|bench| async move {
        let node = bench.start().await;
        node.created("a").await;
        let wrong = |producer| AppendRequest {
            producer,
            match_offset: Some(Offset(9)),
            seal: true,
            ..post("text/html", "x")
        };
        assert_eq!(node.append("a", wrong(None)).await.unwrap_err().code(), "content-type-mismatch");
        let closing = AppendRequest { producer: claim("p", 0, 0), seal: true, ..plain("last") };
        node.append("a", closing).await.unwrap();
        assert_eq!(node.append("a", wrong(None)).await.unwrap_err().code(), "sealed");
        let duplicate = node.append("a", wrong(claim("p", 0, 0))).await.unwrap();
        assert!(duplicate.duplicate && duplicate.sealed);
        assert_eq!(node.texts("a").await, ["last"]);
    });
}

#[test]
fn a_request_for_another_life_of_the_name_is_refused() {
    run(|bench| async move {
        let node = bench.start().await;
        let old = node.created("a").await.stream;
        let with = |stream| AppendRequest { if_stream: Some(stream), ..plain("x") };
        node.append("a", with(old)).await.unwrap();
        node.delete("a").await;
        let new = node.created("a").await.stream;
        let found = node.append("a", with(old)).await.unwrap_err();
        assert_eq!((found.code(), found.problem().status()), ("stream-id-mismatch", 412));
        assert_eq!(found.fields(), [("stream_id", Fact::Stream(new))]);
        assert!(node.append("a", with(StreamId(u64::MAX))).await.is_err());
        assert_eq!(node.head("a").unwrap().next, Offset(0));
    });
}
