//! What cannot be read stops the plane, is kept, and is shown (P22).

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use kelda_env::sim::Sim;
use kelda_meta::{Meta, ProposeError};
use kelda_metalog::{
    AppendError, LogError, LogStore, MemoryLog, MetaLog, MetaLogConfig, OpenError, Plane, SnapshotPut, Stop,
};

use super::{has, open, put, put_now, try_open};

/// Where the version of entries and snapshots lies in them.
const VERSION_AT: usize = 8;

fn newer(bytes: &Bytes) -> Bytes {
    let mut bytes = bytes.to_vec();
    bytes[VERSION_AT] = 2;
    Bytes::from(bytes)
}

fn flipped(bytes: &Bytes) -> Bytes {
    let mut bytes = bytes.to_vec();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    Bytes::from(bytes)
}

async fn refused(sim: &Sim, log: &MemoryLog) -> Stop {
    match try_open(&sim.node("again").env(), log, MetaLogConfig::default()).await {
        Err(OpenError::Stored(stop)) => stop,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_entry_that_does_not_decode_stops_a_running_node() {
    Sim::run(1, |sim| async move {
        let log = MemoryLog::new();
        let meta = open(&sim.node("a").env(), &log).await;
        put_now(&meta, "before").await;
        let garbage = Bytes::from_static(b"not an entry");
        log.append(3, garbage.clone()).await.unwrap();
        let unknown = meta.propose(put("after")).await;
        assert!(
            matches!(unknown, Err(ProposeError::Unavailable(_) | ProposeError::Unknown(_))),
            "{unknown:?}"
        );
        let Plane::Stopped { reason } = meta.health().plane else { panic!("{:?}", meta.health()) };
        assert!(reason.contains("entry 3"), "{reason}");
        let refusal = meta.propose(put("later")).await.unwrap_err();
        assert!(refusal.to_string().contains("entry 3"), "{refusal}");
        // The last view stays readable, the log stays as it is, and nobody skips the entry.
        assert!(has(&meta.view(), "before"));
        assert_eq!(log.read(3, 10).await.unwrap(), [(3, garbage)]);
        assert!(matches!(refused(&sim, &log).await, Stop::Entry { index: 3, .. }));
    });
}

#[test]
fn a_flipped_bit_in_an_entry_is_found() {
    Sim::run(1, |sim| async move {
        let log = MemoryLog::new();
        let meta = open(&sim.node("a").env(), &log).await;
        put_now(&meta, "key").await;
        let (_, bytes) = log.read(2, 1).await.unwrap().pop().unwrap();
        log.plant(2, flipped(&bytes));
        assert!(matches!(refused(&sim, &log).await, Stop::Entry { index: 2, .. }));
    });
}

#[test]
fn an_entry_of_a_newer_version_is_refused_as_such() {
    Sim::run(1, |sim| async move {
        let log = MemoryLog::new();
        let meta = open(&sim.node("a").env(), &log).await;
        put_now(&meta, "key").await;
        let (_, bytes) = log.read(2, 1).await.unwrap().pop().unwrap();
        log.plant(2, newer(&bytes));
        let stop = refused(&sim, &log).await;
        assert!(matches!(stop, Stop::Newer { found: 2, known: 1, .. }), "{stop}");
        assert!(stop.to_string().contains("use a newer version"), "{stop}");
    });
}

#[test]
fn an_entry_of_another_cluster_is_refused() {
    Sim::run(1, |sim| async move {
        let (log, other) = (MemoryLog::new(), MemoryLog::new());
        let (a, b) = (open(&sim.node("a").env(), &log).await, open(&sim.node("b").env(), &other).await);
        put_now(&b, "foreign").await;
        let (_, bytes) = other.read(2, 1).await.unwrap().pop().unwrap();
        log.append(2, bytes).await.unwrap();
        let stop = refused(&sim, &log).await;
        assert!(matches!(&stop, Stop::OtherCluster { found, .. } if *found == b.cluster()), "{stop}");
        assert_ne!(a.cluster(), b.cluster());
    });
}

#[test]
fn a_snapshot_that_does_not_decode_goes_into_quarantine() {
    Sim::run(1, |sim| async move {
        let log = MemoryLog::new();
        let meta = open(&sim.node("a").env(), &log).await;
        put_now(&meta, "key").await;
        let snapshot = meta.view().to_snapshot();
        log.put_snapshot(2, snapshot.clone()).await.unwrap();
        log.damage_snapshot(flipped(&snapshot));
        let before = (log.bounds(), log.read(1, 10).await.unwrap());
        for _ in 0..2 {
            assert!(matches!(refused(&sim, &log).await, Stop::Snapshot { index: 2, .. }));
            assert_eq!(log.quarantined().len(), 1);
        }
        assert_eq!((log.bounds(), log.read(1, 10).await.unwrap()), before, "nothing was deleted");
    });
}

#[test]
fn a_snapshot_of_a_newer_version_is_refused_and_not_damaged() {
    Sim::run(1, |sim| async move {
        let log = MemoryLog::new();
        let meta = open(&sim.node("a").env(), &log).await;
        put_now(&meta, "key").await;
        log.put_snapshot(2, newer(&meta.view().to_snapshot())).await.unwrap();
        let stop = refused(&sim, &log).await;
        assert!(matches!(stop, Stop::Newer { found: 2, known: 1, .. }), "{stop}");
        assert!(log.quarantined().is_empty());
    });
}

/// A log whose medium fails at the third entry.
#[derive(Debug)]
struct Breaking(MemoryLog);

#[async_trait]
impl LogStore for Breaking {
    async fn append(&self, index: u64, entry: Bytes) -> Result<(), AppendError> {
        if index > 2 {
            return Err(AppendError::Broken("the medium is gone".to_owned()));
        }
        self.0.append(index, entry).await
    }

    async fn read(&self, from: u64, limit: usize) -> Result<Vec<(u64, Bytes)>, LogError> {
        self.0.read(from, limit).await
    }

    async fn latest_snapshot(&self) -> Result<Option<(u64, Bytes)>, LogError> {
        self.0.latest_snapshot().await
    }

    async fn put_snapshot(&self, index: u64, state: Bytes) -> Result<SnapshotPut, LogError> {
        self.0.put_snapshot(index, state).await
    }

    async fn quarantine(&self, index: u64, reason: &str) -> Result<(), LogError> {
        self.0.quarantine(index, reason).await
    }

    async fn wait(&self, after: u64) {
        self.0.wait(after).await;
    }
}

#[test]
fn a_broken_medium_stops_the_plane_and_leaves_the_outcome_open() {
    Sim::run(1, |sim| async move {
        let log = Arc::new(Breaking(MemoryLog::new()));
        let meta = MetaLog::open(sim.node("a").env(), log, MetaLogConfig::default()).await.unwrap();
        put_now(&meta, "before").await;
        let open = meta.propose(put("during")).await;
        assert!(matches!(open, Err(ProposeError::Unknown(_))), "{open:?}");
        let after = meta.propose(put("after")).await;
        assert!(matches!(after, Err(ProposeError::Unavailable(_))), "{after:?}");
        assert!(matches!(meta.health().plane, Plane::Stopped { .. }));
        assert!(has(&meta.view(), "before"));
    });
}
