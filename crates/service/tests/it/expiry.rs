//! Sliding TTL and absolute expiry.

use std::time::Duration;

use futures::future::join;
use kelda_format::{Offset, Timestamp};
use kelda_meta::Meta;
use kelda_service::{AppendRequest, CreateRequest, Expiry, ReadLimit, StartAt, StreamInfo, Wait};

use crate::bench::{Bench, Node, anybody, claim, name, plain, put, run, seal, seconds};

async fn with_ttl(node: &Node, stream: &str, ttl: u64) -> StreamInfo {
    with_expiry(node, stream, Expiry::Sliding { ttl_ms: ttl * 1000 }).await
}

async fn with_expiry(node: &Node, stream: &str, expiry: Expiry) -> StreamInfo {
    let mut request = put(stream, "text/plain");
    request.config.expiry = Some(expiry);
    let created = node.create(request).await.unwrap();
    assert!(created.new);
    created.info
}

fn now(bench: &Bench) -> u64 {
    bench.machine.env().clock.now()
}

#[test]
fn an_idle_stream_is_gone_after_its_ttl() {
    run(|bench| async move {
        let node = bench.start().await;
        let stream = with_ttl(&node, "a", 10).await.stream;
        node.append("a", plain("x")).await.unwrap();
        bench.sleep(Duration::from_millis(9_900)).await;
        assert!(node.head("a").is_some());
        bench.sleep(Duration::from_millis(200)).await;
        assert!(node.head("a").is_none());
        assert!(node.append("a", plain("y")).await.is_err());
        assert!(node.read_all("a").await.is_err());
        bench.sleep(seconds(5)).await;
        assert!(node.meta.view().stream(stream).is_none(), "the timer removed it");
        assert_eq!(node.service.gauges().deadlines, 0);
    });
}

#[test]
fn an_expired_name_is_free_at_once_for_another_configuration() {
    run(|bench| async move {
        let node = bench.start().await;
        let old = with_ttl(&node, "a", 1).await.stream;
        bench.sleep(Duration::from_millis(1_000)).await;
        let created = node.create(put("a", "application/json")).await.unwrap();
        assert!(created.new && created.info.stream != old);
        bench.sleep(seconds(60)).await;
        assert!(node.head("a").is_some(), "the old deadline does not reach the new stream");
    });
}

#[test]
fn reads_and_writes_slide_and_head_does_not() {
    run(|bench| async move {
        let node = bench.start().await;
        let uses = ["append", "seal", "producer seal", "read", "resolve next", "duplicate", "wait"];
        for stream in uses.into_iter().chain(["head", "refused"]) {
            with_ttl(&node, stream, 10).await;
        }
        let by_producer = || AppendRequest { producer: claim("p", 0, 0), ..plain("x") };
        node.append("duplicate", by_producer()).await.unwrap();
        bench.sleep(seconds(8)).await;
        let limit = ReadLimit { max_bytes: 100, max_records: 10, until: None };
        let id = |stream: &str| node.head(stream).unwrap().stream;
        node.append("append", plain("x")).await.unwrap();
        node.append("seal", seal()).await.unwrap();
        node.append("producer seal", AppendRequest { producer: claim("p", 0, 0), ..seal() }).await.unwrap();
        node.append("duplicate", by_producer()).await.unwrap();
        node.service.read(&anybody(), &name("read"), id("read"), Offset(0), limit).await.unwrap();
        node.start_at("resolve next", StartAt::Next).await.unwrap();
        node.service.wait(&name("wait"), id("wait"), Offset(0), Duration::from_millis(10)).await;
        let refused = AppendRequest { match_offset: Some(Offset(9)), ..plain("x") };
        assert!(node.append("refused", refused).await.is_err());
        bench.sleep(seconds(4)).await;
        for stream in uses {
            assert!(node.head(stream).is_some(), "{stream} slides");
        }
        assert!(node.head("head").is_none(), "HEAD does not slide");
        assert!(node.head("refused").is_none(), "what is refused does not slide");
        bench.sleep(seconds(60)).await;
        for stream in uses {
            assert!(node.head(stream).is_none(), "{stream} expires in the end");
        }
    });
}

#[test]
fn a_parked_reader_keeps_a_stream() {
    run(|bench| async move {
        let node = bench.start().await;
        let stream = with_ttl(&node, "a", 2).await.stream;
        let a = name("a");
        let late = async {
            bench.sleep(seconds(20)).await;
            node.append("a", plain("x")).await
        };
        let (woken, receipt) = join(node.service.wait(&a, stream, Offset(0), seconds(25)), late).await;
        assert_eq!((woken, receipt.is_ok()), (Wait::Data, true));
        bench.sleep(seconds(3)).await;
        assert!(node.head("a").is_none());
    });
}

#[test]
fn an_absolute_time_is_moved_by_nothing() {
    run(|bench| async move {
        let node = bench.start().await;
        let at = Timestamp(now(&bench) + 10_000);
        let info = with_expiry(&node, "a", Expiry::At(at)).await;
        assert_eq!(info.deadline, Some(at));
        bench.sleep(seconds(8)).await;
        node.append("a", plain("x")).await.unwrap();
        assert_eq!(node.texts("a").await, ["x"]);
        let a = name("a");
        let woken = node.service.wait(&a, info.stream, Offset(1), seconds(25)).await;
        assert_eq!(woken, Wait::Gone, "a parked reader learns it");
        assert!(node.head("a").is_none());
        bench.sleep(seconds(2)).await;
        assert!(node.meta.view().stream(info.stream).is_none());
    });
}

#[test]
fn a_time_in_the_past_expires_at_once() {
    run(|bench| async move {
        let node = bench.start().await;
        let mut request = put("a", "text/plain");
        request.config.expiry = Some(Expiry::At(Timestamp(1)));
        assert!(node.create(request).await.unwrap().new);
        assert!(node.head("a").is_none());
        with_expiry(&node, "b", Expiry::Sliding { ttl_ms: 0 }).await;
        bench.sleep(Duration::from_millis(10)).await;
        assert!(node.head("b").is_none());
    });
}

#[test]
fn a_crash_never_shortens_a_ttl() {
    run(|bench| async move {
        let node = bench.start().await;
        let (read, written, untouched) = ("read", "written", "untouched");
        for stream in [read, written, untouched] {
            with_ttl(&node, stream, 10).await;
        }
        bench.sleep(seconds(9)).await;
        node.start_at(read, StartAt::First).await.unwrap();
        node.append(written, plain("x")).await.unwrap();
        let node = bench.restart_after_crash(node).await;
        bench.sleep(Duration::from_millis(9_500)).await;
        for stream in [read, written, untouched] {
            assert!(node.head(stream).is_some(), "{stream}");
        }
        bench.sleep(seconds(2)).await;
        for stream in [read, written, untouched] {
            assert!(node.head(stream).is_none(), "{stream} was not kept for ever");
        }
    });
}

#[test]
fn a_clean_restart_keeps_a_ttl_as_it_was() {
    run(|bench| async move {
        let node = bench.start().await;
        for stream in ["read", "written", "sealed", "untouched"] {
            with_ttl(&node, stream, 100).await;
        }
        bench.sleep(seconds(60)).await;
        node.start_at("read", StartAt::First).await.unwrap();
        node.append("written", plain("x")).await.unwrap();
        node.append("sealed", seal()).await.unwrap();
        let node = bench.restart_cleanly(node).await;
        bench.sleep(seconds(45)).await;
        assert!(node.head("untouched").is_none(), "100 s after its creation");
        let node = bench.restart_cleanly(node).await;
        bench.sleep(seconds(50)).await;
        for stream in ["read", "written", "sealed"] {
            assert!(node.head(stream).is_some(), "{stream} 95 s after its use");
        }
        bench.sleep(seconds(15)).await;
        for stream in ["read", "written", "sealed"] {
            assert!(node.head(stream).is_none(), "{stream} 110 s after its use");
        }
    });
}

#[test]
fn after_a_crash_and_a_clean_restart_nothing_is_shortened_either() {
    run(|bench| async move {
        let node = bench.start().await;
        with_ttl(&node, "a", 100).await;
        bench.sleep(seconds(90)).await;
        node.start_at("a", StartAt::First).await.unwrap();
        let node = bench.restart_after_crash(node).await;
        let node = bench.restart_cleanly(node).await;
        bench.sleep(seconds(95)).await;
        assert!(node.head("a").is_some());
    });
}

#[test]
fn a_wall_clock_that_jumps_expires_nothing() {
    run(|bench| async move {
        let node = bench.start().await;
        with_ttl(&node, "sliding", 100).await;
        with_expiry(&node, "absolute", Expiry::At(Timestamp(now(&bench) + 100_000))).await;
        bench.machine.jump_clock(3_600_000);
        assert!(node.service.clock_fault().is_some());
        bench.sleep(seconds(10)).await;
        assert!(node.head("sliding").is_some() && node.head("absolute").is_some());
        bench.sleep(seconds(100)).await;
        assert!(node.head("sliding").is_none() && node.head("absolute").is_some());
        bench.machine.jump_clock(-3_600_000);
        bench.sleep(seconds(5)).await;
        assert!(node.service.clock_fault().is_none());
        assert!(node.head("absolute").is_none());
    });
}

#[test]
fn what_was_found_expired_does_not_come_back() {
    run(|bench| async move {
        let node = bench.start().await;
        with_ttl(&node, "a", 10).await;
        node.append("a", plain("x")).await.unwrap();
        bench.machine.jump_clock(-3_600_000);
        bench.sleep(seconds(11)).await;
        for _ in 0..50 {
            assert!(node.head("a").is_none());
            bench.sleep(seconds(1)).await;
        }
        assert!(node.create(put("a", "text/html")).await.unwrap().new);
        assert_eq!(node.meta.view().stream_count(), 1);
    });
}

#[test]
fn many_streams_expire_together() {
    run(|bench| async move {
        let node = bench.start().await;
        for n in 0..300 {
            with_ttl(&node, &format!("s/{n}"), 10).await;
        }
        node.create(CreateRequest::new(name("kept"))).await.unwrap();
        assert_eq!(node.service.gauges().deadlines, 300);
        bench.sleep(seconds(60)).await;
        assert_eq!(node.service.gauges().deadlines, 0);
        assert_eq!(node.meta.view().stream_count(), 1);
    });
}
