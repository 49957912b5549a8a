//! Another machine takes over: fence, seal, recovery, and the writer that was only paused.

use std::time::Duration;

use kelda_engine::{AppendError, EngineConfig, MaintenanceConfig, OpenError, StartError, WalKind};
use kelda_env::sim::{FaultPlan, Sim, StoreFaults};
use kelda_format::rows::SessionState;
use kelda_format::{Offset, SessionId};

use super::site::{LONG, Machine, Site, in_store, is_slot};
use crate::world::{body, outcome, request};

#[test]
fn the_streams_of_a_dead_machine_go_on_elsewhere() {
    Sim::run(1, |sim| async move {
        let site = Site::new(&sim);
        let (first, second) = (site.machine(1).await, site.machine(2).await);
        let stream = first.create("a").await;
        for number in 0..40 {
            first.append(stream, &body(number, 3000)).await.unwrap();
        }
        let dead = first.engine.session();
        first.node.kill().await;
        assert!(matches!(second.engine.open(stream).await, Err(OpenError::Elsewhere(by)) if by == dead));
        second.engine.take_over(dead).await.unwrap();
        assert_eq!(second.append(stream, "next").await.unwrap().first, Offset(40));
        assert_eq!(second.read_all(stream).await.len(), 41);
        assert_eq!(second.view().session(dead).unwrap().state, SessionState::Recovered);
        assert_eq!(site.slots(dead).len(), 1, "only the seal is left");
        // Once more is no harm.
        second.engine.take_over(dead).await.unwrap();
        assert_eq!(second.read_all(stream).await.len(), 41);
    });
}

/// Compacts and collects as soon as anything may be.
fn at_once() -> EngineConfig {
    let maintenance = MaintenanceConfig {
        destroy_grace: Duration::ZERO,
        reservation_age: Duration::ZERO,
        orphan_age: Duration::ZERO,
        ..MaintenanceConfig::default()
    };
    EngineConfig { maintenance, ..in_store() }
}

/// A writer stopped at any moment, while another machine fences, recovers, opens the streams, goes on, compacts and collects;
/// then it is resumed.
#[test]
fn a_paused_writer_gets_nothing_acknowledged_and_nothing_is_lost_or_there_twice() {
    for seed in 0..60 {
        Sim::run(seed, |sim| async move {
            let site = Site::with(&sim, at_once());
            let (paused, other) = (site.machine(1).await, site.machine(2).await);
            let (stream, session) = (paused.create("a").await, paused.engine.session());
            let store =
                StoreFaults { max_delay: Duration::from_millis(60), late: 0.1, ..StoreFaults::default() };
            sim.set_faults(FaultPlan { store, ..FaultPlan::slow() });
            let open = paused.engine.open(stream).await.unwrap();
            let mut clients = Vec::new();
            for number in 0..60 {
                let open = open.clone();
                let append = async move { open.append(request(&[&body(number, 2500)])).await };
                clients.push(sim.spawn(append));
                sim.sleep(Duration::from_millis(3)).await;
            }
            sim.sleep(Duration::from_millis(seed * 4)).await;
            paused.gate.pause();
            let answered: Vec<usize> = (0..clients.len()).filter(|at| clients[*at].is_finished()).collect();
            other.engine.take_over(session).await.unwrap();
            sim.set_faults(FaultPlan::slow());
            let found = other.read_all(stream).await;
            for number in &answered {
                assert!(found.contains(&body(*number, 2500)), "record {number} was acknowledged");
            }
            let after: Vec<String> = (0..12).map(|number| format!("after {number}")).collect();
            for (at, text) in (found.len() as u64..).zip(&after) {
                assert_eq!(other.append(stream, text).await.unwrap().first, Offset(at));
                // Many small objects.
                other.engine.flush().await;
            }
            let before = other.view().applied();
            other.engine.maintain_now().await;
            assert!(other.view().applied() > before, "something was compacted or collected");
            assert_eq!(other.view().objects_to_destroy().count(), 0, "it is gone");
            paused.gate.resume();
            for number in 60..65 {
                let append = open.append(request(&[&body(number, 100)])).await;
                assert!(append.is_err(), "acknowledged after the fence: {append:?}");
            }
            sim.sleep(LONG).await;
            sim.set_faults(FaultPlan::calm());
            let end = other.read_all(stream).await;
            assert_eq!(end[..found.len()], found[..]);
            assert_eq!(end[found.len()..], after);
            for (number, client) in clients.into_iter().enumerate() {
                if let Some(Ok(appended)) = outcome(client).await {
                    let at = usize::try_from(appended.first.0).unwrap();
                    assert_eq!(end[at], body(number, 2500), "what was acknowledged is there, once");
                }
            }
            assert_ne!(paused.engine.session(), session, "it registered anew");
            other.engine.maintain_now().await;
            assert!(!site.slots(session).is_empty(), "no collection takes the seal");
            assert_eq!(other.read_all(stream).await, end);
        });
    }
}

#[test]
fn a_seal_that_races_with_an_upload_has_one_winner() {
    let (mut lost, mut kept) = (0, 0);
    for seed in 0..40 {
        let won = Sim::run(seed, |sim| async move {
            let site = Site::new(&sim);
            let (first, second) = (site.machine(1).await, site.machine(2).await);
            let (stream, session) = (first.create("a").await, first.engine.session());
            first.append(stream, "kept").await.unwrap();
            let store = StoreFaults { max_delay: Duration::from_millis(50), ..StoreFaults::default() };
            sim.set_faults(FaultPlan { store, ..FaultPlan::slow() });
            let open = first.engine.open(stream).await.unwrap();
            first.gate.hold(|op, _| op == "create");
            let append = sim.spawn(async move { open.append(request(&["raced"])).await });
            let engine = second.engine.clone();
            let takeover = sim.spawn(async move { engine.take_over(session).await });
            sim.sleep(Duration::from_millis(seed)).await;
            first.gate.open();
            takeover.await.unwrap().unwrap();
            let found = second.read_all(stream).await;
            let raced = append.await.unwrap();
            if raced.is_ok() {
                assert_eq!(found, ["kept", "raced"], "acknowledged, so recovered");
            }
            assert!(found == ["kept"] || found == ["kept", "raced"], "{found:?}");
            found.len() == 2
        });
        if won { kept += 1 } else { lost += 1 }
    }
    assert!(lost > 0 && kept > 0, "{lost} lost, {kept} kept");
}

#[test]
fn two_recoverers_at_once_and_the_dead_node_itself() {
    for seed in 0..60 {
        Sim::run(seed, |sim| async move {
            let site = Site::new(&sim);
            let (first, second, third) =
                (site.machine(1).await, site.machine(2).await, site.machine(3).await);
            let (stream, session) = (first.create("a").await, first.engine.session());
            // Nothing is committed by the owner: several ranges are left to the recoverers.
            first.gate.hold(|op, _| op == "put");
            for number in 0..100 {
                first.append(stream, &body(number, 2000)).await.unwrap();
            }
            first.node.crash().await;
            let store = StoreFaults {
                max_delay: Duration::from_millis(50),
                fail_before: 0.1,
                fail_after: 0.1,
                self_collision: 0.1,
                ..StoreFaults::default()
            };
            sim.set_faults(FaultPlan { store, ..FaultPlan::slow() });
            let takeovers: Vec<_> = [&second, &third]
                .map(|machine| {
                    let engine = machine.engine.clone();
                    sim.spawn(async move { engine.take_over(session).await })
                })
                .into();
            let again = async {
                // The node comes back in the middle of it, or does not.
                if seed % 3 == 0 { Some(site.process(&first.node, 1).await.unwrap()) } else { None }
            };
            let again = again.await;
            for takeover in takeovers {
                takeover.await.unwrap().unwrap();
            }
            sim.set_faults(FaultPlan::calm());
            let expected: Vec<String> = (0..100).map(|number| body(number, 2000)).collect();
            for machine in [Some(&second), Some(&third), again.as_ref()].into_iter().flatten() {
                assert_eq!(machine.read_all(stream).await, expected);
            }
            assert_eq!(second.append(stream, "next").await.unwrap().first, Offset(100));
            assert!(site.slots(session).iter().all(|key| !is_slot(key, 0)), "{:?}", site.slots(session));
        });
    }
}

#[test]
fn with_a_local_log_there_is_exactly_one_node() {
    Sim::run(2, |sim| async move {
        let mut config = in_store();
        config.wal = WalKind::Local;
        let local = Site::with(&sim, config);
        let first = local.machine(1).await;
        let node = sim.node("second");
        let refused = local.process(&node, 2).await.err().unwrap();
        assert!(matches!(&refused, StartError::NotAlone { other, .. } if other.0 == 1), "{refused:?}");
        assert!(refused.to_string().contains("--wal store"), "{refused}");
        let in_store = Site { config: super::site::in_store(), ..local.clone() };
        assert!(in_store.process(&node, 2).await.is_err(), "nor with a log in the store beside it");
        let stranger = SessionId { epoch: first.engine.session().epoch, ..first.engine.session() };
        assert!(first.engine.take_over(stranger).await.is_err(), "its own session");
        // The node itself may change the kind of its log: what the old one holds is recovered.
        let stream = first.create("a").await;
        first.append(stream, "local").await.unwrap();
        first.node.kill().await;
        let first = in_store.process(&first.node, 1).await.unwrap();
        first.append(stream, "store").await.unwrap();
        first.node.kill().await;
        let first: Machine = local.process(&first.node, 1).await.unwrap();
        first.append(stream, "local again").await.unwrap();
        assert_eq!(first.read_all(stream).await, ["local", "store", "local again"]);
    });
}

#[test]
fn whoever_waits_when_the_fence_comes_is_told_that_it_does_not_know() {
    Sim::run(4, |sim| async move {
        let site = Site::new(&sim);
        let (first, second) = (site.machine(1).await, site.machine(2).await);
        let (stream, session) = (first.create("a").await, first.engine.session());
        first.append(stream, "kept").await.unwrap();
        first.gate.hold(|op, _| op == "create");
        let open = first.engine.open(stream).await.unwrap();
        let append = sim.spawn(async move { open.append(request(&["unknown"])).await });
        sim.sleep(Duration::from_millis(50)).await;
        second.engine.take_over(session).await.unwrap();
        assert_eq!(append.await.unwrap(), Err(AppendError::OutcomeUnknown));
        assert_eq!(second.read_all(stream).await, ["kept"]);
    });
}
