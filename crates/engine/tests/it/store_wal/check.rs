//! The check of a stopped node whose write-ahead log is in the store: it judges as the next start would.

use std::sync::Arc;

use kelda_engine::check::{Fault, Findings, Objects, SlotUse, check_objects};
use kelda_env::Store;
use kelda_env::sim::Sim;
use kelda_format::keys::wal_key;
use kelda_format::wal::Seal;
use kelda_format::{Offset, SessionEpoch, SessionId};

use super::damage::ten_slots;
use super::site::{LONG, Machine, Site};
use crate::world::CLUSTER;

async fn check(site: &Site, machine: &Machine) -> (Objects, Findings) {
    let store: Arc<dyn Store> = Arc::new(site.store.clone());
    let mut findings = Findings::default();
    let found = check_objects(&store, CLUSTER, Some(&machine.view()), &mut findings).await.unwrap();
    (found, findings)
}

fn uses(found: &Objects) -> Vec<SlotUse> {
    found.slots.iter().map(|slot| slot.used).collect()
}

#[test]
fn what_waits_in_slots_is_counted_and_a_recovered_log_is_left_over_but_for_its_seal() {
    Sim::run(1, |sim| async move {
        let site = Site::new(&sim);
        let (machine, stream) = ten_slots(&site).await;
        let (found, findings) = check(&site, &machine).await;
        assert_eq!((uses(&found), findings.total()), (vec![SlotUse::Waiting; 10], 0));
        let tail = found.tails[&stream];
        assert_eq!((tail.end, tail.records, tail.sealed), (Some(Offset(10)), 10, false));

        let session = machine.engine.session();
        let slot = site.store.peek(&wal_key(CLUSTER, session, 9)).unwrap();
        let machine = site.process(&machine.node, 1).await.unwrap();
        sim.sleep(LONG).await;
        // As if a slot had come to light again that was deleted.
        site.store.put(&wal_key(CLUSTER, session, 9), slot).await.unwrap();
        let (found, findings) = check(&site, &machine).await;
        assert_eq!((uses(&found), findings.total()), (vec![SlotUse::LeftOver, SlotUse::Seal], 0));
        assert!(found.tails.is_empty());
    });
}

#[test]
fn a_damaged_slot_ends_what_is_known_and_a_missing_one_is_told_from_the_end() {
    for at in [3, 60, 84, 88, 200, 500] {
        Sim::run(at, |sim| async move {
            let site = Site::new(&sim);
            let (machine, stream) = ten_slots(&site).await;
            let key = wal_key(CLUSTER, machine.engine.session(), 6);
            assert!(site.store.flip_bit(&key, at));
            let (found, findings) = check(&site, &machine).await;
            let [finding] = findings.list() else { panic!("byte {at}: {findings:?}") };
            assert_eq!(finding.file, key, "byte {at}");
            assert_ne!(finding.fault, Fault::Unreadable);
            let [records] = finding.affected[..] else { panic!("{finding:?}") };
            assert_eq!((records.stream, records.from, records.to), (stream, Offset(6), None));
            assert_eq!(found.tails[&stream].end, Some(Offset(6)));
        });
    }
    Sim::run(1, |sim| async move {
        let site = Site::new(&sim);
        let (machine, stream) = ten_slots(&site).await;
        let session = machine.engine.session();
        let missing = wal_key(CLUSTER, session, 4);
        assert!(site.store.lose(&missing));
        let (_, findings) = check(&site, &machine).await;
        let [finding] = findings.list() else { panic!("{findings:?}") };
        assert_eq!((finding.fault, &finding.file), (Fault::Missing, &missing));
        assert_eq!((finding.affected[0].stream, finding.affected[0].from), (stream, Offset(4)));
        // Whatever a place says that it is not.
        let other = SessionId { epoch: SessionEpoch(9), ..session };
        let seal = Seal { cluster: CLUSTER, session: other, slot: 4, by: other, nonce: 1 }.encode();
        site.store.put(&missing, seal.to_vec().into()).await.unwrap();
        let (_, findings) = check(&site, &machine).await;
        assert_eq!(findings.list()[0].fault, Fault::Foreign, "{findings:?}");
    });
}
