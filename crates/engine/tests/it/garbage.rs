//! What becomes of objects that nothing refers to: when their bytes go, and what is never deleted.

use std::time::Duration;

use bytes::Bytes;
use kelda_engine::{EngineConfig, MaintenanceConfig};
use kelda_env::Store;
use kelda_env::sim::{FaultPlan, Sim, StoreFaults};
use kelda_format::command::{ExpireReservations, ReserveObjects};
use kelda_format::keys::{data_key, wal_key};
use kelda_format::{ObjectId, Outcome, Timestamp};
use kelda_meta::Meta;

use crate::world::{CLUSTER, World, body, small};

/// A world with a stream of a few objects and one with a single one.
async fn with_objects(sim: &Sim, maintenance: MaintenanceConfig) -> (World, kelda_format::StreamId) {
    let world = World::with(sim, EngineConfig { maintenance, ..small() }).await;
    let stream = world.create("a").await;
    for number in 0..200 {
        world.append(stream, &[&body(number, 1000)]).await.unwrap();
    }
    world.engine.flush().await;
    (world, stream)
}

fn queued(world: &World) -> usize {
    world.view().objects_to_destroy().count()
}

#[test]
fn bytes_of_a_deleted_stream_go_after_the_grace_and_not_before() {
    Sim::run(1, |sim| async move {
        let (world, stream) = with_objects(&sim, MaintenanceConfig::default()).await;
        let objects = world.objects();
        assert!(objects >= 3, "{objects}");
        world.engine.delete(stream).await.unwrap();
        sim.sleep(Duration::from_secs(9 * 60)).await;
        assert_eq!((world.objects(), queued(&world)), (objects, objects), "readers may still be at them");
        sim.sleep(Duration::from_secs(2 * 60)).await;
        assert_eq!((world.objects(), queued(&world)), (0, 0));
    });
}

#[test]
fn a_trim_frees_the_objects_below_it() {
    Sim::run(2, |sim| async move {
        let (world, stream) = with_objects(&sim, MaintenanceConfig::default()).await;
        let objects = world.objects();
        world.engine.trim(stream, kelda_format::Offset(130)).await.unwrap();
        sim.sleep(Duration::from_secs(11 * 60)).await;
        assert!(world.objects() < objects && queued(&world) == 0, "{} of {objects}", world.objects());
        assert_eq!(world.read_from(stream, kelda_format::Offset(130)).await.len(), 70);
    });
}

#[test]
fn a_store_that_says_deleted_and_does_not_delete_is_named_and_asked_again() {
    Sim::run(3, |sim| async move {
        let (world, stream) = with_objects(&sim, MaintenanceConfig::default()).await;
        let objects = world.objects();
        let store = StoreFaults { lying_delete: 1.0, ..Default::default() };
        sim.set_faults(FaultPlan { store, ..FaultPlan::calm() });
        world.engine.delete(stream).await.unwrap();
        sim.sleep(Duration::from_secs(15 * 60)).await;
        assert_eq!((world.objects(), queued(&world)), (objects, objects), "nothing is taken for gone");
        let (count, key) = world.engine.maintenance().undeleted.unwrap();
        assert_eq!(count, objects);
        assert!(world.store.keys().contains(&key));
        sim.set_faults(FaultPlan::calm());
        sim.sleep(Duration::from_secs(2 * 60 * 60)).await;
        assert_eq!((world.objects(), queued(&world)), (0, 0));
        assert_eq!(world.engine.maintenance().undeleted, None);
    });
}

#[test]
fn failing_deletes_are_tried_again() {
    Sim::run(4, |sim| async move {
        let (world, stream) = with_objects(&sim, MaintenanceConfig::default()).await;
        let store = StoreFaults { fail_before: 0.3, fail_after: 0.3, ..Default::default() };
        sim.set_faults(FaultPlan { store, ..FaultPlan::calm() });
        world.engine.delete(stream).await.unwrap();
        sim.sleep(Duration::from_secs(60 * 60)).await;
        assert_eq!((world.objects(), queued(&world)), (0, 0));
    });
}

async fn reserve(world: &World) -> ObjectId {
    let command = ReserveObjects { session: world.engine.session(), count: 1, at: world.engine.now() };
    match world.meta.propose(command.into()).await.unwrap() {
        Outcome::Reserved { first, .. } => first,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_reservation_that_is_never_committed_expires_with_its_object() {
    Sim::run(5, |sim| async move {
        let world = World::new(&sim).await;
        let object = reserve(&world).await;
        world.store.put(&data_key(CLUSTER, object), Bytes::from_static(b"half an upload")).await.unwrap();
        sim.sleep(Duration::from_secs(59 * 60)).await;
        assert!(world.view().is_reserved(object));
        assert_eq!(world.objects(), 1);
        sim.sleep(Duration::from_secs(15 * 60)).await;
        assert!(!world.view().is_reserved(object) && queued(&world) == 0);
        assert_eq!(world.objects(), 0);
    });
}

#[test]
fn the_sweep_finds_what_nothing_knows_and_leaves_the_rest() {
    Sim::run(6, |sim| async move {
        let (mut world, stream) = with_objects(&sim, MaintenanceConfig::default()).await;
        let objects = world.objects();
        let late = reserve(&world).await;
        let at = Timestamp(world.engine.now().0 + 1);
        let before = at;
        world.meta.propose(ExpireReservations { owner: None, before, at }.into()).await.unwrap();
        sim.sleep(Duration::from_secs(20 * 60)).await;
        // The queue was emptied, and then the upload arrives.
        assert_eq!(queued(&world), 0);
        let future = ObjectId(world.view().numbers().next_object + 5);
        let session = world.engine.session();
        for key in [
            data_key(CLUSTER, late),
            data_key(CLUSTER, future),
            wal_key(CLUSTER, session, 3),
            "somebody/elses".to_owned(),
        ] {
            world.store.put(&key, Bytes::from_static(b"x")).await.unwrap();
        }
        let strange = world.objects();
        assert_eq!(strange, objects + 4);
        sim.sleep(Duration::from_secs(25 * 60 * 60)).await;
        assert_eq!(world.objects(), strange, "nothing is written, so nothing is looked for");
        world.append(stream, &["something new"]).await.unwrap();
        world.engine.flush().await;
        sim.sleep(Duration::from_secs(60)).await;
        let keys = world.store.keys();
        assert!(!keys.contains(&data_key(CLUSTER, late)), "an orphan goes");
        assert!(keys.contains(&data_key(CLUSTER, future)), "what a newer log may know stays");
        assert!(keys.contains(&wal_key(CLUSTER, session, 3)), "the log of a live session stays");
        assert!(keys.contains(&"somebody/elses".to_owned()));
        assert_eq!(world.read_all(stream).await.len(), 201);
        // A session that is over leaves nothing in the store.
        world.engine.shutdown().await.unwrap();
        world.node.kill().await;
        world.restart().await.unwrap();
        sim.sleep(Duration::from_secs(25 * 60 * 60)).await;
        world.engine.maintain_now().await;
        assert!(!world.store.keys().contains(&wal_key(CLUSTER, session, 3)));
    });
}

#[test]
fn an_idle_node_asks_the_store_for_nothing() {
    Sim::run(7, |sim| async move {
        let (world, stream) = with_objects(&sim, MaintenanceConfig::default()).await;
        let other = world.create("b").await;
        world.append(other, &["x"]).await.unwrap();
        world.engine.trim(stream, kelda_format::Offset(100)).await.unwrap();
        sim.sleep(Duration::from_secs(26 * 60 * 60)).await;
        let before = world.counts.snapshot().total();
        sim.sleep(Duration::from_secs(100 * 60 * 60)).await;
        assert_eq!(world.counts.snapshot().total(), before, "{:?}", world.counts.snapshot());
    });
}
