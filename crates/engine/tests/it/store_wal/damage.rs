//! A slot that is damaged or missing stops the recovery, and nothing is changed.

use kelda_engine::StartError;
use kelda_env::sim::Sim;
use kelda_format::Offset;
use kelda_format::keys::wal_key;

use super::site::{Machine, Site};
use crate::world::{CLUSTER, body, request};

/// Ten slots of a process that was killed.
pub async fn ten_slots(site: &Site) -> (Machine, kelda_format::StreamId) {
    let machine = site.machine(1).await;
    let stream = machine.create("a").await;
    for number in 0..10 {
        machine.append(stream, &body(number, 500)).await.unwrap();
    }
    machine.node.kill().await;
    (machine, stream)
}

#[test]
fn a_flipped_bit_is_named_with_its_place_and_all_stays_as_it_was() {
    for at in [3, 60, 84, 88, 200, 500] {
        Sim::run(at, |sim| async move {
            let site = Site::new(&sim);
            let (machine, stream) = ten_slots(&site).await;
            let key = wal_key(CLUSTER, machine.engine.session(), 6);
            assert!(site.store.flip_bit(&key, at));
            let before = site.store.keys();
            let error = site.process(&machine.node, 1).await.err().unwrap();
            let StartError::Corrupt { file, position, .. } = &error else { panic!("byte {at}: {error:?}") };
            assert_eq!(file, &key);
            assert!(*position < 700, "{error}");
            assert_eq!(site.store.keys(), before, "byte {at}");
            // However often it is tried; and repaired, everything is there.
            for _ in 0..3 {
                machine.node.kill().await;
                assert!(site.process(&machine.node, 1).await.is_err());
            }
            assert!(site.store.flip_bit(&key, at));
            machine.node.kill().await;
            let machine = site.process(&machine.node, 1).await.unwrap();
            assert_eq!(machine.read_all(stream).await.len(), 10);
            assert_eq!(machine.view().sessions().count(), 3, "tries leave no more than one session");
        });
    }
}

#[test]
fn a_missing_slot_that_was_acknowledged_is_no_end_of_the_log() {
    Sim::run(1, |sim| async move {
        let site = Site::new(&sim);
        let (machine, _) = ten_slots(&site).await;
        let key = wal_key(CLUSTER, machine.engine.session(), 4);
        assert!(site.store.lose(&key));
        let before = site.store.keys();
        let error = site.process(&machine.node, 1).await.err().unwrap();
        assert!(matches!(&error, StartError::Corrupt { file, .. } if *file == key), "{error:?}");
        assert_eq!(site.store.keys(), before, "no seal was put there");
    });
}

#[test]
fn a_slot_that_is_missing_before_others_on_their_way_ends_the_log() {
    Sim::run(2, |sim| async move {
        let site = Site::new(&sim);
        let machine = site.machine(1).await;
        let stream = machine.create("a").await;
        machine.append(stream, "kept").await.unwrap();
        machine.gate.hold(|op, key| op == "create" && super::site::is_slot(key, 1));
        let open = machine.engine.open(stream).await.unwrap();
        for text in ["lost", "landed"] {
            let open = open.clone();
            sim.spawn(async move { open.append(request(&[text])).await });
            sim.sleep(std::time::Duration::from_millis(5)).await;
        }
        let session = machine.engine.session();
        assert_eq!(site.slots(session).len(), 2, "slots 0 and 2");
        machine.node.kill().await;
        let machine = site.process(&machine.node, 1).await.unwrap();
        assert_eq!(machine.read_all(stream).await, ["kept"]);
        assert_eq!(machine.append(stream, "next").await.unwrap().first, Offset(1));
        assert_eq!(site.slots(session).len(), 1, "only the seal is left");
    });
}

#[test]
fn a_slot_of_another_session_is_foreign() {
    Sim::run(3, |sim| async move {
        let site = Site::new(&sim);
        let (machine, _) = ten_slots(&site).await;
        let session = machine.engine.session();
        let other = site.store.peek(&wal_key(CLUSTER, session, 3)).unwrap();
        let key = wal_key(CLUSTER, session, 5);
        assert!(site.store.lose(&key));
        kelda_env::Store::put(&site.store, &key, other).await.unwrap();
        let error = site.process(&machine.node, 1).await.err().unwrap();
        assert!(matches!(&error, StartError::Foreign { file, .. } if *file == key), "{error:?}");
    });
}
