//! Groups: linger, bounds, order of acknowledgement, back-pressure.

use std::time::Duration;

use kelda_engine::AppendError;
use kelda_env::sim::{FaultPlan, Sim, StoreFaults};
use kelda_format::Offset;

use super::site::{LONG, Site, in_store, is_slot};
use crate::world::{body, request};

#[test]
fn a_lone_append_waits_for_the_linger_and_groups_fill_under_load() {
    Sim::run(1, |sim| async move {
        let mut config = in_store();
        config.wal_linger = Duration::from_millis(20);
        config.group_bytes = 8 << 10;
        let site = Site::with(&sim, config);
        let machine = site.machine(1).await;
        let stream = machine.create("a").await;
        machine.append(stream, "first").await.unwrap();
        let before = sim.elapsed();
        machine.append(stream, "lone").await.unwrap();
        let taken = sim.elapsed() - before;
        assert!(taken >= Duration::from_millis(20) && taken < Duration::from_millis(25), "{taken:?}");
        // Five full groups do not wait at all; the sixth does.
        let before = sim.elapsed();
        let mut clients = Vec::new();
        let open = machine.engine.open(stream).await.unwrap();
        for number in 0..45 {
            let open = open.clone();
            clients.push(sim.spawn(async move { open.append(request(&[&body(number, 850)])).await }));
        }
        for client in clients {
            client.await.unwrap().unwrap();
        }
        assert!(sim.elapsed() - before < Duration::from_millis(25));
        let slots = site.slots(machine.engine.session());
        assert!(slots.len() >= 7 && slots.len() <= 9, "groups of 8 KiB: {slots:?}");
    });
}

#[test]
fn several_groups_are_on_their_way_and_the_last_to_land_holds_up_the_answers() {
    Sim::run(2, |sim| async move {
        let site = Site::new(&sim);
        let machine = site.machine(1).await;
        let stream = machine.create("a").await;
        machine.gate.hold(|op, key| op == "create" && is_slot(key, 0));
        let open = machine.engine.open(stream).await.unwrap();
        let mut clients = Vec::new();
        for number in 0..4 {
            let open = open.clone();
            clients.push(sim.spawn(async move { open.append(request(&[&body(number, 100)])).await }));
            sim.sleep(Duration::from_millis(5)).await;
        }
        sim.sleep(LONG).await;
        let created = machine.gate.requests();
        assert_eq!(created.iter().filter(|request| request.starts_with("create")).count(), 3, "{created:?}");
        assert!(clients.iter().all(|client| !client.is_finished()), "slot 0 is not durable");
        assert_eq!(open.tail(), Offset(0), "readers do not see past it either");
        machine.gate.open();
        for (number, client) in clients.into_iter().enumerate() {
            assert_eq!(client.await.unwrap().unwrap().first, Offset(number as u64));
        }
        assert_eq!(site.slots(machine.engine.session()).len(), 4);
    });
}

#[test]
fn a_store_that_hangs_makes_appends_wait_and_memory_stays_bounded() {
    Sim::run(3, |sim| async move {
        let site = Site::new(&sim);
        let machine = site.machine(1).await;
        let stream = machine.create("a").await;
        machine.append(stream, "first").await.unwrap();
        machine.gate.hold(|_, _| true);
        let open = machine.engine.open(stream).await.unwrap();
        let mut clients = Vec::new();
        for number in 0..1000 {
            let open = open.clone();
            clients.push(sim.spawn(async move { open.append(request(&[&body(number, 4000)])).await }));
        }
        sim.sleep(LONG).await;
        let (mut waiting, mut refused) = (0, 0);
        for client in &clients {
            if client.is_finished() { refused += 1 } else { waiting += 1 }
        }
        assert!(
            refused > 0 && waiting * 4000 <= site.config.wal_queue_bytes,
            "{waiting} wait, {refused} refused"
        );
        machine.gate.open();
        let mut accepted = 1;
        for client in clients {
            match client.await.unwrap() {
                Ok(_) => accepted += 1,
                Err(error) => assert!(matches!(error, AppendError::Overloaded(_)), "{error:?}"),
            }
        }
        assert_eq!(accepted, waiting + 1);
        assert_eq!(machine.read_all(stream).await.len() as u64, accepted);
    });
}

#[test]
fn a_store_that_takes_no_objects_makes_appends_wait_and_they_go_on_later() {
    Sim::run(4, |sim| async move {
        let site = Site::new(&sim);
        let machine = site.machine(1).await;
        let stream = machine.create("a").await;
        machine.gate.hold(|op, _| op == "put");
        let mut accepted: usize = 0;
        let refused = loop {
            match machine.append(stream, &body(accepted, 4000)).await {
                Ok(_) => accepted += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(refused, AppendError::Overloaded(_)), "{refused:?}");
        let (bytes, bound) = (accepted as u64 * 4000, site.config.uncommitted_bytes);
        assert!(bytes > bound / 2 && bytes <= bound, "{bytes} of {bound}");
        machine.gate.open();
        sim.sleep(LONG).await;
        machine.append(stream, "more").await.unwrap();
        assert_eq!(machine.read_all(stream).await.len(), accepted + 1);
    });
}

#[test]
fn a_batch_larger_than_everything_is_one_slot() {
    Sim::run(5, |sim| async move {
        let site = Site::new(&sim);
        let machine = site.machine(1).await;
        let stream = machine.create("a").await;
        let large = body(1, 600 << 10);
        for text in ["small", &large, "after"] {
            machine.append(stream, text).await.unwrap();
        }
        machine.node.kill().await;
        let machine = site.process(&machine.node, 1).await.unwrap();
        assert_eq!(machine.read_all(stream).await, ["small", &large, "after"]);
    });
}

#[test]
fn an_idle_engine_asks_nothing_of_the_store() {
    Sim::run(6, |sim| async move {
        let site = Site::new(&sim);
        let machine = site.machine(1).await;
        let stream = machine.create("a").await;
        machine.append(stream, "a").await.unwrap();
        sim.sleep(Duration::from_secs(660)).await;
        assert_eq!(machine.wal_start(), 1, "committed though the range is not full");
        assert!(site.slots(machine.engine.session()).is_empty());
        let (requests, applied) = (machine.gate.requests(), machine.view().applied());
        sim.sleep(Duration::from_secs(5 * 3600)).await;
        assert_eq!(machine.gate.requests(), requests);
        assert_eq!(machine.view().applied(), applied);
    });
}

#[test]
fn throttling_delays_and_loses_nothing() {
    Sim::run(7, |sim| async move {
        let site = Site::new(&sim);
        let machine = site.machine(1).await;
        let stream = machine.create("a").await;
        let store = StoreFaults { fail_before: 0.7, ..StoreFaults::default() };
        sim.set_faults(FaultPlan { store, ..FaultPlan::calm() });
        for number in 0..60 {
            machine.append(stream, &body(number, 3000)).await.unwrap();
        }
        machine.node.crash().await;
        let machine = site.process(&machine.node, 1).await.unwrap();
        sim.set_faults(FaultPlan::calm());
        let expected: Vec<String> = (0..60).map(|number| body(number, 3000)).collect();
        assert_eq!(machine.read_all(stream).await, expected);
    });
}
