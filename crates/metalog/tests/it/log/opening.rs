//! Opening: a cluster begins once, and only its own log is opened.

use kelda_env::sim::Sim;
use kelda_format::ClusterId;
use kelda_meta::Meta;
use kelda_metalog::{LogStore, MemoryLog, MetaLogConfig, OpenError, Plane, Stop};

use super::{open, put, put_now, try_open};

#[test]
fn an_empty_log_begins_a_cluster_once() {
    Sim::run(1, |sim| async move {
        let log = MemoryLog::new();
        let (a, b) = (sim.node("a").env(), sim.node("b").env());
        let (a, b) = tokio::join!(open(&a, &log), open(&b, &log));
        assert_eq!(a.cluster(), b.cluster());
        assert_ne!(a.cluster(), ClusterId::default());
        let again = open(&sim.node("c").env(), &log).await;
        assert_eq!(again.cluster(), a.cluster());
        assert_eq!(log.read(1, 10).await.unwrap().len(), 1);
    });
}

#[test]
fn another_cluster_is_refused() {
    Sim::run(1, |sim| async move {
        let env = sim.node("a").env();
        let log = MemoryLog::new();
        let (mine, other) = (ClusterId([1; 16]), ClusterId([2; 16]));
        let of = |cluster| MetaLogConfig { cluster: Some(cluster), ..MetaLogConfig::default() };
        let meta = try_open(&env, &log, of(mine)).await.unwrap();
        assert_eq!(meta.cluster(), mine);
        put_now(&meta, "key").await;
        // By its entries, and by its snapshot.
        for at in [None, Some(2)] {
            if let Some(at) = at {
                log.put_snapshot(at, meta.view().to_snapshot()).await.unwrap();
            }
            let error = try_open(&env, &log, of(other)).await.unwrap_err();
            let OpenError::Stored(Stop::OtherCluster { found, expected, .. }) = &error else {
                panic!("{error}")
            };
            assert_eq!((*found, *expected), (mine, other));
        }
    });
}

#[test]
fn what_was_written_is_there_after_a_crash() {
    Sim::run(1, |sim| async move {
        let node = sim.node("a");
        let log = MemoryLog::new();
        let meta = open(&node.env(), &log).await;
        for number in 0..20 {
            put_now(&meta, &format!("key {number}")).await;
        }
        let before = meta.view();
        node.crash().await;
        let meta = open(&node.env(), &log).await;
        assert_eq!(*meta.view(), *before);
        put_now(&meta, "after").await;
    });
}

#[test]
fn shutdown_finishes_what_was_proposed_and_refuses_the_rest() {
    Sim::run(1, |sim| async move {
        let env = sim.node("a").env();
        let log = MemoryLog::new();
        let meta = open(&env, &log).await;
        let last = sim.spawn(meta.propose(put("last")));
        tokio::task::yield_now().await;
        meta.shutdown().await;
        assert!(last.await.unwrap().is_ok());
        assert_eq!(meta.health().plane, Plane::Closed);
        let refused = meta.propose(put("late")).await.unwrap_err();
        assert!(refused.to_string().contains("closed"), "{refused}");
    });
}

#[test]
fn a_log_whose_task_ended_says_so() {
    Sim::run(1, |sim| async move {
        let meta = open(&sim.node("a").env(), &MemoryLog::new()).await;
        assert_eq!(meta.health().plane, Plane::Ready);
        meta.abort().await;
        assert!(matches!(meta.health().plane, Plane::Stopped { .. }), "{:?}", meta.health());
        assert!(meta.propose(put("key")).await.is_err());
    });
}
