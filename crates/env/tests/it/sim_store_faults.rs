//! What a simulated store does wrong when it is asked to, each shown to happen and to be off by itself.

use std::time::Duration;

use bytes::Bytes;
use kelda_env::sim::{FaultPlan, Sim, SimStore, StoreFaults};
use kelda_env::{Store, StoreError, StoreOp};

fn with(sim: &Sim, store: StoreFaults) -> SimStore {
    sim.set_faults(FaultPlan { store, ..FaultPlan::calm() });
    sim.store()
}

fn body() -> Bytes {
    Bytes::from_static(b"one")
}

#[test]
fn a_throttled_request_has_no_effect() {
    Sim::run(1, |sim| async move {
        let store = with(&sim, StoreFaults { throttled: 1.0, ..StoreFaults::default() });
        let error = store.put_if_absent("a", body()).await.unwrap_err();
        assert!(matches!(error, StoreError::Throttled { op: StoreOp::Put, .. }), "{error}");
        assert!(error.is_retryable());
        assert!(store.keys().is_empty());
    });
}

#[test]
fn a_request_times_out_with_its_effect_and_without() {
    for applied in [false, true] {
        Sim::run(1, |sim| async move {
            let chance = |happens| if happens { 1.0 } else { 0.0 };
            let plan = StoreFaults {
                max_delay: Duration::from_secs(1),
                timed_out_before: chance(!applied),
                timed_out_after: chance(applied),
                ..StoreFaults::default()
            };
            let store = with(&sim, plan);
            let began = sim.elapsed();
            let error = store.put_if_absent("a", body()).await.unwrap_err();
            assert!(matches!(error, StoreError::TimedOut { .. }), "{error}");
            assert!(error.is_outcome_unknown() && sim.elapsed() - began >= Duration::from_secs(10));
            assert_eq!(store.peek("a").is_some(), applied);
        });
    }
}

#[test]
fn a_request_hangs_for_ever_and_may_have_its_effect() {
    let mut applied = 0;
    for seed in 0..40 {
        applied += Sim::run(seed, |sim| async move {
            let store = with(&sim, StoreFaults { hanging: 1.0, ..StoreFaults::default() });
            let env = sim.node("node").env();
            let day = Duration::from_secs(24 * 3600);
            assert!(env.timeout(day, store.put_if_absent("a", body())).await.is_err());
            u32::from(store.peek("a").is_some())
        });
    }
    assert!((5..35).contains(&applied), "{applied} of 40 had their effect");
}

#[test]
fn a_stale_listing_lacks_what_is_new_and_has_what_is_gone() {
    Sim::run(1, |sim| async move {
        let plan =
            StoreFaults { stale_list: 1.0, stale_by: Duration::from_secs(5), ..StoreFaults::default() };
        let store = with(&sim, plan);
        store.put("a/old", body()).await.unwrap();
        store.put("a/gone", body()).await.unwrap();
        store.put("a/longer", body()).await.unwrap();
        sim.sleep(Duration::from_secs(10)).await;
        store.delete("a/gone").await.unwrap();
        store.put("a/new", body()).await.unwrap();
        store.put("a/longer", Bytes::from_static(b"longer")).await.unwrap();
        let listed = async || {
            let found = store.list("a/").await.unwrap();
            found.into_iter().map(|object| (object.key, object.len)).collect::<Vec<_>>()
        };
        let of =
            |all: &[(&str, u64)]| all.iter().map(|(key, len)| ((*key).to_owned(), *len)).collect::<Vec<_>>();
        assert_eq!(listed().await, of(&[("a/gone", 3), ("a/longer", 3), ("a/old", 3)]));
        assert_eq!(store.get("a/new").await.unwrap(), "one", "only listings are behind");
        sim.sleep(Duration::from_secs(6)).await;
        assert_eq!(listed().await, of(&[("a/longer", 6), ("a/new", 3), ("a/old", 3)]));
    });
}

#[test]
fn a_lying_delete_does_nothing() {
    Sim::run(1, |sim| async move {
        let store = with(&sim, StoreFaults { lying_delete: 1.0, ..StoreFaults::default() });
        store.put("a", body()).await.unwrap();
        store.delete("a").await.unwrap();
        store.delete_many(&["a".to_owned()]).await.unwrap();
        assert_eq!(store.keys(), ["a"]);
    });
}

#[test]
fn an_upload_that_breaks_off_leaves_pieces_that_no_listing_shows() {
    Sim::run(1, |sim| async move {
        let store = with(&sim, StoreFaults { partial_upload: 1.0, ..StoreFaults::default() });
        let disk = sim.node("node").env().disk;
        disk.create("segment").await.unwrap();
        let error = store.adopt(&*disk, "segment", "a").await.unwrap_err();
        assert!(error.is_outcome_unknown(), "{error}");
        assert_eq!((store.keys(), store.left_over()), (vec![], vec!["a".to_owned()]));
        assert_eq!(store.list("").await.unwrap(), []);
        sim.set_faults(FaultPlan::calm());
        store.adopt(&*disk, "segment", "a").await.unwrap();
        assert_eq!(store.keys(), ["a"]);
    });
}

#[test]
fn a_swap_collides_with_its_own_first_attempt() {
    Sim::run(1, |sim| async move {
        let store = with(&sim, StoreFaults::default());
        store.put("a", body()).await.unwrap();
        let tag = store.head("a").await.unwrap().unwrap().tag.unwrap();
        sim.set_faults(FaultPlan {
            store: StoreFaults { self_collision: 1.0, ..StoreFaults::default() },
            ..FaultPlan::calm()
        });
        assert!(store.swap("a", Bytes::from_static(b"two"), &tag).await.unwrap_err().is_stale());
        assert_eq!(store.peek("a").unwrap(), "two");
    });
}

#[test]
fn the_clock_of_the_store_is_its_own() {
    Sim::run(1, |sim| async move {
        let (store, env) = (with(&sim, StoreFaults::default()), sim.node("node").env());
        store.put("a", body()).await.unwrap();
        let modified = async || store.head("a").await.unwrap().unwrap().modified;
        assert_eq!(modified().await, env.clock.now());
        store.jump_clock(-30_000);
        store.put("a", body()).await.unwrap();
        assert_eq!(modified().await, env.clock.now() - 30_000);
    });
}

#[test]
fn rough_worlds_throttle_and_time_out_and_calm_ones_do_neither() {
    let (calm, rough) = (FaultPlan::calm().store, FaultPlan::rough().store);
    assert!(rough.throttled > 0.0 && rough.timed_out_before > 0.0 && rough.timed_out_after > 0.0);
    for chance in [
        calm.throttled,
        calm.timed_out_before,
        calm.timed_out_after,
        calm.hanging,
        calm.stale_list,
        calm.lying_delete,
        calm.partial_upload,
        rough.hanging,
        rough.stale_list,
        rough.lying_delete,
        rough.partial_upload,
    ] {
        assert!(chance.abs() < f64::EPSILON);
    }
}
