//! Retention that is changed later.

use futures::future::join_all;
use kelda_format::StreamId;
use kelda_service::{CreateRequest, Fault, Patch, Retention, RetentionPatch, UpdateError};

use crate::bench::{Node, anybody, name, put, run};

async fn update(node: &Node, patch: RetentionPatch) -> Result<Retention, UpdateError> {
    node.service.update(&anybody(), &name("a"), patch, None).await.map(|info| info.retention)
}

#[test]
fn each_bound_is_kept_set_or_cleared() {
    run(|bench| async move {
        let node = bench.start().await;
        let mut request = put("a", "text/plain");
        request.config.retention = Retention { max_age_ms: Some(5), max_bytes: Some(6), segment_bytes: None };
        request.config.arguments = Some(vec![("x-max-age".to_owned(), "5ms".to_owned())]);
        node.create(request.clone()).await.unwrap();
        let patch = RetentionPatch {
            max_bytes: Patch::Clear,
            segment_bytes: Patch::Set(7),
            ..RetentionPatch::default()
        };
        let expected = Retention { max_age_ms: Some(5), max_bytes: None, segment_bytes: Some(7) };
        assert_eq!(update(&node, patch).await.unwrap(), expected);
        assert_eq!(update(&node, RetentionPatch::default()).await.unwrap(), expected);
        let node = bench.restart_after_crash(node).await;
        let info = node.head("a").unwrap();
        assert_eq!((info.retention, info.arguments), (expected, request.config.arguments.clone().unwrap()));
        let found = node.create(request).await.unwrap_err();
        assert_eq!(found.code(), "config-conflict", "compared with what is in force");
    });
}

#[test]
fn what_cannot_be_is_refused() {
    run(|bench| async move {
        let node = bench.start().await;
        let set = |value| RetentionPatch { max_age_ms: Patch::Set(value), ..RetentionPatch::default() };
        assert_eq!(update(&node, set(1)).await.unwrap_err().code(), "not-found");
        let stream = node.create(CreateRequest::new(name("a"))).await.unwrap().info.stream;
        for value in [0, 1 << 53, u64::MAX] {
            assert_eq!(update(&node, set(value)).await.unwrap_err().code(), "invalid-config");
        }
        let other = StreamId(stream.0 + 1);
        let found = node.service.update(&anybody(), &name("a"), set(1), Some(other)).await.unwrap_err();
        assert_eq!(found.code(), "stream-id-mismatch");
    });
}

#[test]
fn updates_that_race_all_take_effect() {
    run(|bench| async move {
        let node = bench.start().await;
        node.create(CreateRequest::new(name("a"))).await.unwrap();
        let patches = [
            RetentionPatch { max_age_ms: Patch::Set(1), ..RetentionPatch::default() },
            RetentionPatch { max_bytes: Patch::Set(2), ..RetentionPatch::default() },
            RetentionPatch { segment_bytes: Patch::Set(3), ..RetentionPatch::default() },
        ];
        join_all(patches.map(|patch| update(&node, patch))).await.into_iter().for_each(|outcome| {
            outcome.unwrap();
        });
        let expected = Retention { max_age_ms: Some(1), max_bytes: Some(2), segment_bytes: Some(3) };
        assert_eq!(node.head("a").unwrap().retention, expected);
    });
}

#[test]
fn arguments_are_pinned_once_and_outlive_changes_of_retention() {
    run(|bench| async move {
        let node = bench.start().await;
        let mut request = put("a", "text/plain");
        request.config.retention = Retention { max_bytes: Some(6), ..Retention::default() };
        let stream = node.create(request).await.unwrap().info.stream;
        let spell = |retention: &Retention| vec![("bytes".to_owned(), format!("{:?}", retention.max_bytes))];
        let patch = RetentionPatch { max_bytes: Patch::Set(7), ..RetentionPatch::default() };
        update(&node, patch).await.unwrap();
        let (caller, named) = (anybody(), name("a"));
        let pin = || node.service.pin_arguments(&caller, &named, stream, spell);
        let pinned = vec![("bytes".to_owned(), "Some(7)".to_owned())];
        assert_eq!(pin().await.unwrap().arguments, pinned, "what is in force at the first one");
        let patch = RetentionPatch { max_bytes: Patch::Set(8), ..RetentionPatch::default() };
        update(&node, patch).await.unwrap();
        let again = pin().await.unwrap();
        assert_eq!((again.arguments, again.retention.max_bytes), (pinned, Some(8)));
        let other = StreamId(stream.0 + 1);
        let found = node.service.pin_arguments(&anybody(), &name("a"), other, spell).await.unwrap_err();
        assert_eq!(found.code(), "stream-id-mismatch");
    });
}
