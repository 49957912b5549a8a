//! Creations that a crash, or a caller who went away, leaves unfinished.

use std::time::Duration;

use bytes::Bytes;
use futures::future::FutureExt;
use kelda_env::sim::FaultPlan;
use kelda_format::command::CreateStream;
use kelda_format::{Batch, StreamId, Timestamp};
use kelda_meta::{Meta, Outcome};
use kelda_service::{CreateRequest, Expiry, Fault, ListRequest, Retention, StreamKind};

use crate::bench::{Node, anybody, body, name, plain, put, run, run_seed, seconds};

/// What a crash leaves: the entry, with or without its content.
async fn left_behind(node: &Node, stream: &str, content: Option<&str>) -> StreamId {
    let command = CreateStream {
        name: name(stream),
        kind: StreamKind::Stream,
        content_type: "text/plain".to_owned(),
        expiry: Expiry::Never,
        retention: Retention::default(),
        arguments: Vec::new(),
        parent: None,
        initialising: true,
        at: Timestamp(1),
        open: None,
    };
    let Outcome::Created { stream, .. } = node.meta.propose(command.into()).await.unwrap() else {
        panic!("it existed");
    };
    if let Some(content) = content {
        let open = node.engine.open(stream).await.unwrap();
        let batch = Batch::single(Bytes::copy_from_slice(content.as_bytes())).unwrap();
        open.append(kelda_engine::AppendRequest::new(batch)).await.unwrap();
    }
    stream
}

fn with_content(stream: &str, content_type: &str, text: &str) -> CreateRequest {
    CreateRequest { content: body(text), ..put(stream, content_type) }
}

#[test]
fn nobody_sees_a_stream_before_its_content_is_there() {
    run(|bench| async move {
        let node = bench.start().await;
        left_behind(&node, "a", None).await;
        left_behind(&node, "b", Some("content")).await;
        for stream in ["a", "b"] {
            assert!(node.head(stream).is_none());
            assert_eq!(node.append(stream, plain("x")).await.unwrap_err().code(), "not-found");
            assert!(node.read_all(stream).await.is_err());
        }
        assert!(node.service.list(&anybody(), &ListRequest::default()).unwrap().streams.is_empty());
    });
}

#[test]
fn a_repeat_completes_what_has_no_content_yet() {
    run(|bench| async move {
        let node = bench.start().await;
        let stream = left_behind(&node, "a", None).await;
        let created = node.create(with_content("a", "text/plain", "content")).await.unwrap();
        assert_eq!((created.new, created.info.stream), (true, stream));
        assert_eq!(node.texts("a").await, ["content"]);
    });
}

#[test]
fn a_repeat_does_not_write_durable_content_again() {
    run(|bench| async move {
        let node = bench.start().await;
        let stream = left_behind(&node, "a", Some("content")).await;
        let node = bench.restart_after_crash(node).await;
        let created = node.create(with_content("a", "text/plain", "content")).await.unwrap();
        assert_eq!(created.info.stream, stream);
        assert_eq!(node.texts("a").await, ["content"]);
    });
}

#[test]
fn another_configuration_replaces_what_was_never_durable_and_meets_what_was() {
    run(|bench| async move {
        let node = bench.start().await;
        let nothing = left_behind(&node, "a", None).await;
        let created = node.create(with_content("a", "application/json", "[1]")).await.unwrap();
        assert!(created.new && created.info.stream != nothing);
        left_behind(&node, "b", Some("content")).await;
        let found = node.create(with_content("b", "application/json", "[1]")).await.unwrap_err();
        assert_eq!(found.code(), "config-conflict");
        assert_eq!(node.texts("b").await, ["content"]);
    });
}

#[test]
fn what_nobody_repeats_is_cleared_up_at_the_next_start() {
    run(|bench| async move {
        let node = bench.start().await;
        let nothing = left_behind(&node, "a", None).await;
        left_behind(&node, "b", Some("content")).await;
        let node = bench.restart_after_kill(node).await;
        bench.sleep(seconds(10)).await;
        assert!(node.meta.view().stream(nothing).is_none(), "as if it had never been asked for");
        assert_eq!(node.texts("b").await, ["content"]);
        assert_eq!(node.service.gauges().leftovers, 0);
        assert!(node.head("a").is_none());
    });
}

#[test]
fn a_delete_removes_what_is_unfinished() {
    run(|bench| async move {
        let node = bench.start().await;
        let stream = left_behind(&node, "a", Some("content")).await;
        let found = node.service.delete(&anybody(), &name("a"), None).await.unwrap_err();
        assert_eq!(found.code(), "not-found");
        assert!(node.meta.view().stream(stream).is_none());
    });
}

#[test]
fn a_caller_who_goes_away_leaves_a_whole_stream() {
    run(|bench| async move {
        let node = bench.start().await;
        bench.sim.set_faults(FaultPlan::slow());
        let mut creation = Box::pin(node.create(with_content("a", "text/plain", "content")));
        assert!((&mut creation).now_or_never().is_none());
        drop(creation);
        bench.sleep(seconds(10)).await;
        assert_eq!(node.texts("a").await, ["content"]);
        assert_eq!(node.service.gauges().creations, 0);
    });
}

/// Whenever the power fails during a creation, the name is free or a repeat finds all of it, once.
#[test]
fn a_repeat_after_a_crash_at_any_moment_completes_exactly_once() {
    for seed in 0..60 {
        run_seed(seed, |bench| async move {
            let mut node = bench.start().await;
            bench.sim.set_faults(FaultPlan::slow());
            let request = || CreateRequest { seal: Some(true), ..with_content("a", "text/plain", "content") };
            let service = node.service.clone();
            let first = bench.sim.spawn(async move { service.create(&anybody(), request()).await.is_ok() });
            bench.sleep(Duration::from_micros(seed * 400)).await;
            let done = first.is_finished();
            node = if seed % 2 == 0 {
                bench.restart_after_crash(node).await
            } else {
                bench.restart_after_kill(node).await
            };
            first.abort();
            if done {
                assert!(node.head("a").is_some(), "seed {seed}: what was answered is there");
            }
            node.create(request()).await.unwrap();
            assert_eq!(node.texts("a").await, ["content"], "seed {seed}");
            assert!(node.head("a").unwrap().sealed, "seed {seed}");
            assert!(!node.create(request()).await.unwrap().new, "seed {seed}");
        });
    }
}
