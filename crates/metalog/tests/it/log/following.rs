//! Following: what one node writes, the others see.

use kelda_env::sim::Sim;
use kelda_meta::Meta;
use kelda_metalog::MemoryLog;
use kelda_metalog::memory::{FaultRates, Step};

use super::{at_head, has, open, open_snapshotting, put, put_now};

#[test]
fn a_change_reaches_the_others() {
    Sim::run(1, |sim| async move {
        let log = MemoryLog::new();
        let a = open(&sim.node("a").env(), &log.handle()).await;
        let b = open(&sim.node("b").env(), &log.handle()).await;
        let before = b.view().applied();
        let changed = sim.spawn(b.changed(before));
        put_now(&a, "key").await;
        changed.await.unwrap();
        assert!(has(&b.view(), "key"));
        assert_eq!(*a.view(), *b.view());
    });
}

#[test]
fn two_writers_agree_on_one_order() {
    Sim::run(7, |sim| async move {
        let rates = FaultRates { max_delay: std::time::Duration::from_millis(5), lost_per_mille: 0 };
        let log = MemoryLog::simulated(sim.node("log").env(), rates);
        let a = open(&sim.node("a").env(), &log).await;
        let b = open(&sim.node("b").env(), &log).await;
        for number in 0..50 {
            let (x, y) = (format!("a{number}"), format!("b{number}"));
            let (x, y) = tokio::join!(a.propose(put(&x)), b.propose(put(&y)));
            assert!(x.is_ok() && y.is_ok(), "{x:?} {y:?}");
        }
        at_head(&a, &log).await;
        at_head(&b, &log).await;
        assert_eq!(*a.view(), *b.view());
    });
}

#[test]
fn a_reader_that_was_passed_goes_on_from_the_snapshot() {
    Sim::run(1, |sim| async move {
        let log = MemoryLog::new();
        let lagging = log.handle();
        let a = open_snapshotting(&sim.node("a").env(), &log, 10).await;
        let b = open(&sim.node("b").env(), &lagging).await;
        let hold = lagging.hold(Step::Read);
        for number in 0..100 {
            put_now(&a, &format!("key {number}")).await;
        }
        assert!(log.bounds().bound > b.view().applied() + 1, "{:?}", log.bounds());
        drop(hold);
        at_head(&b, &log).await;
        assert_eq!(*a.view(), *b.view());
        assert!(b.health().snapshot > 0);
        put_now(&b, "after").await;
    });
}
