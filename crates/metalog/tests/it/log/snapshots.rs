//! Snapshots: when they are due, and that nobody waits for them.

use bytes::Bytes;
use kelda_env::sim::Sim;
use kelda_format::Command;
use kelda_format::command::PutKey;
use kelda_format::rows::KeySpace;
use kelda_meta::{Meta, State};
use kelda_metalog::memory::{FaultRates, Step};
use kelda_metalog::{LogStore, MemoryLog, SNAPSHOT_MIN_ENTRIES};

use super::{open, open_snapshotting, put_now};

#[test]
fn a_snapshot_is_due_after_enough_entries_and_bytes() {
    Sim::run(1, |sim| async move {
        let log = MemoryLog::new();
        let meta = open(&sim.node("a").env(), &log).await;
        let mut number = 0;
        while meta.health().snapshot == 0 {
            put_now(&meta, &format!("key {number}")).await;
            number += 1;
            assert!(number < 2 * SNAPSHOT_MIN_ENTRIES);
        }
        assert!(meta.health().snapshot > SNAPSHOT_MIN_ENTRIES);
        let (index, bytes) = log.latest_snapshot().await.unwrap().unwrap();
        let state = State::from_snapshot(&bytes).unwrap();
        assert_eq!((state.applied(), index), (index, meta.health().snapshot));
    });
}

#[test]
fn a_large_state_is_not_written_again_for_a_few_small_entries() {
    Sim::run(1, |sim| async move {
        let log = MemoryLog::new();
        let meta = open_snapshotting(&sim.node("a").env(), &log, 4).await;
        for key in 0..8_u8 {
            let value = Bytes::from(vec![key; 8000]);
            let large = PutKey {
                space: KeySpace::Setting,
                key: Bytes::from(vec![key]),
                value,
                expected_version: None,
            };
            meta.propose(Command::PutKey(large)).await.unwrap();
        }
        sim.sleep(std::time::Duration::from_secs(1)).await;
        let (first, bytes) = log.latest_snapshot().await.unwrap().unwrap();
        let mut written = 0;
        while log.latest_snapshot().await.unwrap().unwrap().0 == first {
            let before = log.read(first + 1, 100_000).await.unwrap();
            written = before.iter().map(|(_, entry)| entry.len()).sum();
            assert!(written < 3 * bytes.len(), "{written} bytes of log and no snapshot");
            put_now(&meta, &format!("small {written}")).await;
        }
        assert!(written > bytes.len() / 2, "a snapshot of {} bytes after {written} of log", bytes.len());
    });
}

#[test]
fn nobody_waits_for_a_snapshot() {
    Sim::run(1, |sim| async move {
        let log = MemoryLog::new();
        let meta = open_snapshotting(&sim.node("a").env(), &log, 4).await;
        let hold = log.hold(Step::PutSnapshot);
        for number in 0..50 {
            put_now(&meta, &format!("key {number}")).await;
        }
        assert_eq!(meta.health().snapshot, 0);
        drop(hold);
        sim.sleep(std::time::Duration::from_secs(1)).await;
        assert!(meta.health().snapshot > 0);
    });
}

#[test]
fn a_failed_snapshot_shows_and_is_tried_again() {
    Sim::run(1, |sim| async move {
        let log = MemoryLog::simulated(sim.node("log").env(), FaultRates::default());
        let meta = open_snapshotting(&sim.node("a").env(), &log, 4).await;
        let hold = log.hold(Step::PutSnapshot);
        for number in 0..10 {
            put_now(&meta, &format!("key {number}")).await;
        }
        log.set_rates(FaultRates { lost_per_mille: 1000, ..FaultRates::default() });
        drop(hold);
        sim.sleep(std::time::Duration::from_millis(1)).await;
        log.set_rates(FaultRates::default());
        assert!(meta.health().snapshot_error.is_some(), "{:?}", meta.health());
        sim.sleep(std::time::Duration::from_secs(60)).await;
        put_now(&meta, "later").await;
        sim.sleep(std::time::Duration::from_secs(1)).await;
        let health = meta.health();
        assert!(health.snapshot_error.is_none() && health.snapshot > 0, "{health:?}");
    });
}

#[test]
fn snapshot_and_tail_give_the_same_state() {
    Sim::run(1, |sim| async move {
        let node = sim.node("a");
        let log = MemoryLog::new();
        let meta = open_snapshotting(&node.env(), &log, 10).await;
        for number in 0..77 {
            put_now(&meta, &format!("key {number}")).await;
        }
        sim.sleep(std::time::Duration::from_secs(1)).await;
        let bounds = log.bounds();
        assert!(bounds.lowest > Some(1) && bounds.snapshot < meta.view().applied(), "{bounds:?}");
        let before = meta.view();
        node.crash().await;
        assert_eq!(*open(&node.env(), &log).await.view(), *before);
    });
}
