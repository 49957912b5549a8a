//! P8: what an answer of the store means, and what a lost slot means.

use std::time::Duration;

use bytes::Bytes;
use kelda_engine::AppendError;
use kelda_env::Store;
use kelda_env::sim::{FaultPlan, Sim, StoreFaults};
use kelda_format::keys::wal_key;
use kelda_format::wal::Seal;
use kelda_format::{NodeId, Offset, SessionEpoch, SessionId};

use super::site::{LONG, Site, is_slot};
use crate::world::{CLUSTER, body, request};

#[test]
fn a_collision_with_the_own_first_attempt_is_success() {
    Sim::run(1, |sim| async move {
        let site = Site::new(&sim);
        let machine = site.machine(1).await;
        let stream = machine.create("a").await;
        let session = machine.engine.session();
        let store = StoreFaults { self_collision: 1.0, ..StoreFaults::default() };
        sim.set_faults(FaultPlan { store, ..FaultPlan::calm() });
        for number in 0..10 {
            machine.append(stream, &body(number, 100)).await.unwrap();
        }
        assert_eq!(machine.engine.session(), session);
        assert_eq!(site.slots(session).len(), 10);
    });
}

#[test]
fn unknown_outcomes_are_found_out_and_nothing_is_there_twice() {
    for seed in 0..40 {
        Sim::run(seed, |sim| async move {
            let site = Site::new(&sim);
            let machine = site.machine(1).await;
            let (stream, session) = (machine.create("a").await, machine.engine.session());
            let store = StoreFaults {
                max_delay: Duration::from_millis(30),
                fail_before: 0.2,
                fail_after: 0.2,
                late: 0.2,
                self_collision: 0.2,
                ..StoreFaults::default()
            };
            sim.set_faults(FaultPlan { store, ..FaultPlan::slow() });
            for number in 0..30 {
                machine.append(stream, &body(number, 3000)).await.unwrap();
            }
            assert_eq!(machine.engine.session(), session, "no slot was lost");
            sim.set_faults(FaultPlan::calm());
            machine.engine.flush().await;
            let expected: Vec<String> = (0..30).map(|number| body(number, 3000)).collect();
            assert_eq!(machine.read_all(stream).await, expected);
        });
    }
}

#[test]
fn a_slot_with_other_bytes_ends_the_session_and_what_waited_is_unknown() {
    Sim::run(2, |sim| async move {
        let site = Site::new(&sim);
        let machine = site.machine(1).await;
        let (stream, session) = (machine.create("a").await, machine.engine.session());
        machine.append(stream, "kept").await.unwrap();
        // What another process with the same session would have written there.
        let foreign = site.store.peek(&wal_key(CLUSTER, session, 0)).unwrap();
        site.store.put_if_absent(&wal_key(CLUSTER, session, 2), foreign).await.unwrap();
        let open = machine.engine.open(stream).await.unwrap();
        machine.gate.hold(|op, key| op == "create" && is_slot(key, 1));
        let before = sim.spawn({
            let open = open.clone();
            async move { open.append(request(&["before"])).await }
        });
        sim.sleep(Duration::from_millis(10)).await;
        let lost = sim.spawn({
            let open = open.clone();
            async move { open.append(request(&["lost"])).await }
        });
        assert_eq!(lost.await.unwrap(), Err(AppendError::OutcomeUnknown));
        assert_eq!(before.await.unwrap(), Err(AppendError::OutcomeUnknown));
        machine.gate.open();
        sim.sleep(LONG).await;
        // The foreign slot lies behind the seal, in slot 1.
        assert_ne!(machine.engine.session(), session, "a new session took over");
        machine.append(stream, "after").await.unwrap();
        assert_eq!(machine.read_all(stream).await, ["kept", "after"]);
    });
}

#[test]
fn a_seal_ends_the_session_whatever_else_it_knows() {
    Sim::run(3, |sim| async move {
        let site = Site::new(&sim);
        let machine = site.machine(1).await;
        let (stream, session) = (machine.create("a").await, machine.engine.session());
        machine.append(stream, "kept").await.unwrap();
        let by = SessionId { node: NodeId(9), epoch: SessionEpoch(1) };
        let seal = Seal { cluster: CLUSTER, session, slot: 1, by, nonce: 5 };
        let bytes = Bytes::copy_from_slice(&seal.encode());
        site.store.put_if_absent(&wal_key(CLUSTER, session, 1), bytes).await.unwrap();
        assert_eq!(machine.append(stream, "lost").await, Err(AppendError::OutcomeUnknown));
        sim.sleep(LONG).await;
        machine.append(stream, "after").await.unwrap();
        assert_eq!(machine.read_all(stream).await, ["kept", "after"]);
        assert_eq!(site.slots(session).len(), 1, "the seal stays");
        assert_eq!(machine.view().stream(stream).unwrap().end, Offset(1));
    });
}
