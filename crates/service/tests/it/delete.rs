//! Delete, and the reuse of a name.

use kelda_format::{Offset, StreamId};
use kelda_service::{DeleteError, Fault, LookupError, ReadError, ReadLimit};

use crate::bench::{anybody, claim, name, plain, run, seal};
use kelda_service::AppendRequest;

#[test]
fn a_name_is_free_at_once_and_its_next_stream_begins_at_zero() {
    run(|bench| async move {
        let node = bench.start().await;
        let old = node.created("a").await.stream;
        let by_producer = || AppendRequest { producer: claim("p", 0, 0), ..plain("old") };
        node.append("a", by_producer()).await.unwrap();
        assert_eq!(node.delete("a").await, old);
        assert!(node.head("a").is_none());
        assert_eq!(node.append("a", plain("x")).await.unwrap_err().code(), "not-found");
        let new = node.created("a").await.stream;
        assert_ne!(new, old);
        let receipt = node.append("a", by_producer()).await.unwrap();
        assert_eq!(
            (receipt.first, receipt.duplicate),
            (Some(Offset(0)), false),
            "producers are forgotten too"
        );
        let node = bench.restart_after_crash(node).await;
        assert_eq!(node.texts("a").await, ["old"]);
        assert_eq!(node.head("a").unwrap().stream, new);
    });
}

#[test]
fn a_deleted_stream_stays_deleted() {
    run(|bench| async move {
        let node = bench.start().await;
        node.created("a").await;
        node.append("a", plain("x")).await.unwrap();
        node.append("a", seal()).await.unwrap();
        node.delete("a").await;
        let node = bench.restart_after_crash(node).await;
        assert!(node.head("a").is_none());
    });
}

#[test]
fn what_is_not_there_is_not_found() {
    run(|bench| async move {
        let node = bench.start().await;
        let found = node.service.delete(&anybody(), &name("a"), None).await.unwrap_err();
        assert!(matches!(found, DeleteError::Lookup(LookupError::NotFound { .. })));
        let stream = node.created("a").await.stream;
        let found =
            node.service.delete(&anybody(), &name("a"), Some(StreamId(stream.0 + 1))).await.unwrap_err();
        assert_eq!(found.code(), "stream-id-mismatch");
        assert!(node.head("a").is_some());
        node.service.delete(&anybody(), &name("a"), Some(stream)).await.unwrap();
        let found = node.service.delete(&anybody(), &name("a"), None).await.unwrap_err();
        assert_eq!(found.code(), "not-found");
    });
}

#[test]
fn a_reader_of_the_old_stream_learns_it() {
    run(|bench| async move {
        let node = bench.start().await;
        let old = node.created("a").await.stream;
        node.append("a", plain("old")).await.unwrap();
        node.delete("a").await;
        let limit = ReadLimit { max_bytes: 100, max_records: 100, until: None };
        let (caller, a) = (anybody(), name("a"));
        let read = || node.service.read(&caller, &a, old, Offset(0), limit);
        assert_eq!(read().await.unwrap_err().code(), "not-found");
        let new = node.created("a").await.stream;
        node.append("a", plain("new")).await.unwrap();
        let found = read().await.unwrap_err();
        assert!(
            matches!(found, ReadError::Lookup(LookupError::OtherStream { current, .. }) if current == new)
        );
    });
}
