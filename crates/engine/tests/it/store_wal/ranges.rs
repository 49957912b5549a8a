//! From acknowledged slots to packed objects.

use std::collections::BTreeSet;
use std::time::Duration;

use kelda_env::sim::{FaultPlan, Sim, StoreFaults};
use kelda_format::Offset;
use kelda_format::rows::ObjectKind;

use super::site::{LONG, Site, in_store};
use crate::world::body;

#[test]
fn a_stream_with_much_has_its_own_object_and_the_others_share_one() {
    Sim::run(1, |sim| async move {
        let site = Site::new(&sim);
        let machine = site.machine(1).await;
        let much = machine.create("much").await;
        let mut few = Vec::new();
        for number in 0..5 {
            few.push(machine.create(&format!("few-{number}")).await);
        }
        for number in 0..10 {
            machine.append(much, &body(number, 4000)).await.unwrap();
            for stream in &few {
                machine.append(*stream, &body(number, 100)).await.unwrap();
            }
        }
        machine.engine.flush().await;
        let view = machine.view();
        let objects: BTreeSet<_> =
            few.iter().flat_map(|stream| view.refs(*stream)).map(|row| row.object).collect();
        assert_eq!(objects.len(), 1, "one object for the five");
        let own = view.refs(much).next().unwrap();
        assert!(!objects.contains(&own.object));
        assert_eq!((own.base, own.end), (Offset(0), Offset(10)));
        for object in objects.iter().chain([&own.object]) {
            assert_eq!(view.object(*object).unwrap().kind, ObjectKind::Packed);
        }
        assert!(own.bytes > 40_000 && own.bytes <= view.object(own.object).unwrap().bytes);
        assert_eq!(site.objects().len(), 2);
        sim.sleep(LONG).await;
        assert!(site.slots(machine.engine.session()).is_empty(), "what is committed is deleted");
        for stream in few {
            let expected: Vec<String> = (0..10).map(|number| body(number, 100)).collect();
            assert_eq!(machine.read_all(stream).await, expected);
        }
    });
}

#[test]
fn ranges_overtake_each_other_on_the_way_and_are_committed_in_order() {
    for seed in 0..20 {
        Sim::run(seed, |sim| async move {
            let site = Site::new(&sim);
            let machine = site.machine(1).await;
            let stream = machine.create("a").await;
            let store = StoreFaults { max_delay: Duration::from_millis(400), ..StoreFaults::default() };
            sim.set_faults(FaultPlan { store, ..FaultPlan::slow() });
            for number in 0..90 {
                machine.append(stream, &body(number, 3000)).await.unwrap();
            }
            machine.engine.flush().await;
            let view = machine.view();
            assert_eq!(view.stream(stream).unwrap().end, Offset(90));
            assert!(view.refs(stream).count() >= 4, "270 kB in ranges of 64 kB");
            sim.set_faults(FaultPlan::calm());
            let expected: Vec<String> = (0..90).map(|number| body(number, 3000)).collect();
            assert_eq!(machine.read_all(stream).await, expected);
        });
    }
}

#[test]
fn a_clean_close_leaves_nothing_to_recover_and_no_slot() {
    Sim::run(3, |sim| async move {
        let site = Site::new(&sim);
        let machine = site.machine(1).await;
        let (stream, session) = (machine.create("a").await, machine.engine.session());
        machine.append(stream, "a").await.unwrap();
        machine.engine.shutdown().await.unwrap();
        assert!(site.slots(session).is_empty());
        machine.node.kill().await;
        let machine = site.process(&machine.node, 1).await.unwrap();
        assert!(site.slots(session).is_empty(), "a session that closed needs no seal");
        let reads = machine.gate.requests();
        assert!(reads.is_empty(), "and no request: {reads:?}");
        assert_eq!(machine.read_all(stream).await, ["a"]);
    });
}

#[test]
fn a_range_whose_streams_are_gone_needs_no_object() {
    Sim::run(4, |sim| async move {
        let site = Site::new(&sim);
        let machine = site.machine(1).await;
        let (gone, kept) = (machine.create("gone").await, machine.create("kept").await);
        machine.append(gone, "a").await.unwrap();
        machine.engine.delete(gone).await.unwrap();
        machine.engine.flush().await;
        assert!(site.objects().is_empty());
        assert_eq!(machine.wal_start(), 1);
        machine.append(kept, "b").await.unwrap();
        machine.engine.flush().await;
        assert_eq!(machine.read_all(kept).await, ["b"]);
    });
}

#[test]
fn a_local_log_keeps_what_is_in_it_no_longer_than_the_interval_from_the_store() {
    Sim::run(5, |sim| async move {
        let mut config = in_store();
        config.wal = kelda_engine::WalKind::Local;
        let site = Site::with(&sim, config);
        let machine = site.machine(1).await;
        let stream = machine.create("a").await;
        for number in 0..7 {
            machine.append(stream, &body(number, 100)).await.unwrap();
            sim.sleep(Duration::from_secs(100)).await;
        }
        assert!(machine.view().stream(stream).unwrap().end >= Offset(6), "sealed after ten minutes");
    });
}
