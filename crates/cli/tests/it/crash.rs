//! kill -9 at random moments under load: every acknowledged record is there once, at the offset that its
//! acknowledgement named, offsets are dense, and no idempotent record is stored twice by its retries.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use kelda_client::{Binary, Kelda, RangeReader, ReadOptions, StartAt, StreamLimits, encode_bodies};

use crate::node::Node;

/// How often the node is killed; `KELDA_CRASH_ROUNDS` asks for more.
const ROUNDS: u64 = 20;
const IDEMPOTENT: usize = 4;
const PLAIN: usize = 4;
/// Every second producer writes to the stream of its own, the others share one.
const SHARED: &str = "crash/shared";

/// What one producer was told: sequence to first offset.
type Acknowledged = BTreeMap<u64, u64>;

struct Load {
    stop: AtomicBool,
    acknowledged: AtomicU64,
}

fn stream_of(kind: &str, index: usize) -> String {
    if index.is_multiple_of(2) { SHARED.to_owned() } else { format!("crash/{kind}-{index}") }
}

fn body(producer: &str, sequence: u64) -> Bytes {
    // Sizes from a few bytes to a few pages, so that groups and pages are cut at all places.
    let padding = "x".repeat((sequence.wrapping_mul(2_654_435_761) % 9000) as usize);
    Bytes::from(format!("{producer} {sequence} {padding}"))
}

fn batch(producer: &str, sequence: u64) -> Bytes {
    encode_bodies([body(producer, sequence).as_ref()].into_iter()).unwrap()
}

async fn idempotent(endpoint: String, producer: String, stream: String, load: Arc<Load>) -> Acknowledged {
    let kelda = crate::node::client(&endpoint);
    let sending = kelda.producer::<Bytes>(&stream).codec(Binary).id(producer.clone()).open().await.unwrap();
    let mut acknowledged = Acknowledged::new();
    let mut sequence = 0;
    while !load.stop.load(Ordering::Relaxed) {
        let receipt = sending.send(&body(&producer, sequence)).await.unwrap().await.unwrap();
        acknowledged.insert(sequence, receipt.offset.expect("a result that is kept"));
        load.acknowledged.fetch_add(1, Ordering::Relaxed);
        sequence += 1;
    }
    acknowledged
}

async fn plain(endpoint: String, producer: String, stream: String, load: Arc<Load>) -> Acknowledged {
    let kelda = crate::node::client(&endpoint);
    let mut acknowledged = Acknowledged::new();
    let mut sequence = 0;
    while !load.stop.load(Ordering::Relaxed) {
        if let Ok(appended) = kelda.append_once(&stream, batch(&producer, sequence)).await {
            acknowledged.insert(sequence, appended.first_offset.unwrap());
            load.acknowledged.fetch_add(1, Ordering::Relaxed);
        } else {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        sequence += 1;
    }
    acknowledged
}

/// Everything in a stream: (producer, sequence) by offset, after checking that offsets are dense.
async fn contents(kelda: &Kelda, stream: &str) -> Vec<(String, u64)> {
    let options = ReadOptions {
        start: StartAt::Offset(0),
        until: None,
        count: None,
        follow: false,
        patience: Duration::from_secs(30),
    };
    let mut reader = RangeReader::new(kelda, stream, options);
    let mut found = Vec::new();
    while let Some(record) = reader.next().await.unwrap() {
        assert_eq!(record.offset.0, found.len() as u64, "{stream}: offsets are dense");
        let text = std::str::from_utf8(&record.record.body).unwrap();
        let mut words = text.split(' ');
        let (producer, sequence) = (words.next().unwrap(), words.next().unwrap().parse().unwrap());
        assert_eq!(
            record.record.body,
            body(producer, sequence),
            "{stream}: the bytes of {producer} {sequence}"
        );
        found.push((producer.to_owned(), sequence));
    }
    found
}

fn check(stream: &str, found: &[(String, u64)], producer: &str, acknowledged: &Acknowledged, exact: bool) {
    for (sequence, offset) in acknowledged {
        let there = found.get(*offset as usize);
        assert_eq!(there, Some(&(producer.to_owned(), *sequence)), "{stream}: acknowledged at {offset}");
    }
    let own: Vec<u64> =
        found.iter().filter(|(name, _)| name == producer).map(|(_, sequence)| *sequence).collect();
    assert!(own.is_sorted_by(|a, b| a < b), "{stream}: {producer} has a record twice or out of order");
    if exact {
        let expected: Vec<u64> = (0..own.len() as u64).collect();
        assert_eq!(own, expected, "{stream}: {producer} has a gap");
        assert_eq!(own.len(), acknowledged.len(), "{stream}: {producer} stored what was never acknowledged");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost_and_nothing_is_stored_twice() {
    let rounds = std::env::var("KELDA_CRASH_ROUNDS").map_or(ROUNDS, |text| text.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let mut node = Node::start(directory.path());
    let kelda = crate::node::client(&node.endpoint());
    let load = Arc::new(Load { stop: AtomicBool::new(false), acknowledged: AtomicU64::new(0) });
    let mut producers = Vec::new();
    for (kind, count) in [("idempotent", IDEMPOTENT), ("plain", PLAIN)] {
        for index in 0..count {
            let (name, stream) = (format!("{kind}-{index}"), stream_of(kind, index));
            kelda.declare_stream(&stream, StreamLimits::new()).await.unwrap();
            let (endpoint, load) = (node.endpoint(), Arc::clone(&load));
            let task = if kind == "plain" {
                tokio::spawn(plain(endpoint, name.clone(), stream.clone(), load))
            } else {
                tokio::spawn(idempotent(endpoint, name.clone(), stream.clone(), load))
            };
            producers.push((name, stream, kind != "plain", task));
        }
    }
    for round in 0..rounds {
        // A moment that differs each round: after so many further acknowledgements, and a bit.
        let target = load.acknowledged.load(Ordering::Relaxed) + 40 + (round * 97) % 400;
        while load.acknowledged.load(Ordering::Relaxed) < target {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        node.kill();
        node.restart();
    }
    load.stop.store(true, Ordering::Relaxed);
    let mut total = 0;
    for (name, stream, exact, task) in producers {
        let acknowledged = task.await.unwrap();
        total += acknowledged.len();
        check(&stream, &contents(&kelda, &stream).await, &name, &acknowledged, exact);
    }
    assert!(total > 40 * rounds as usize, "the load was real: {total} records");
}
