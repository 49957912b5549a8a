//! The probe passes good stores and tells bad ones.

use std::ops::Range;

use async_trait::async_trait;
use bytes::Bytes;
use kelda_env::sim::{FaultPlan, Sim, SimStore};
use kelda_env::{Adopted, Disk, ObjectInfo, ProbeError, Probed, Store, StoreError, Tag, probe};

use crate::contract::{World, contract};

contract!(good_stores_pass_and_are_left_clean);

async fn good_stores_pass_and_are_left_clean(World { env, store }: World) {
    let probed = probe(&*store, &*env.clock, &*env.random, "c/").await.unwrap();
    assert_eq!(probed.clock_ahead_ms, 0);
    probe(&*store, &*env.clock, &*env.random, "").await.unwrap();
    assert_eq!(store.list("").await.unwrap(), []);
}

/// What a store does wrong.
#[derive(Clone, Copy, PartialEq)]
enum Vice {
    ReplacesOnCreate,
    KeepsDeleted,
    IgnoresRanges,
    SwapsAnything,
    NeverSwaps,
    TellsWrongLengths,
}

struct Bad(SimStore, Vice);

#[async_trait]
impl Store for Bad {
    async fn put_if_absent(&self, key: &str, body: Bytes) -> Result<(), StoreError> {
        match self.1 {
            Vice::ReplacesOnCreate => self.0.put(key, body).await,
            _ => self.0.put_if_absent(key, body).await,
        }
    }
    async fn put(&self, key: &str, body: Bytes) -> Result<(), StoreError> {
        self.0.put(key, body).await
    }
    async fn swap(&self, key: &str, body: Bytes, expected: &Tag) -> Result<Tag, StoreError> {
        match self.1 {
            Vice::SwapsAnything => {
                let now = self.0.head(key).await?.and_then(|object| object.tag).unwrap();
                self.0.swap(key, body, &now).await
            }
            Vice::NeverSwaps => Err(StoreError::Stale { key: key.to_owned() }),
            _ => self.0.swap(key, body, expected).await,
        }
    }
    async fn get(&self, key: &str) -> Result<Bytes, StoreError> {
        self.0.get(key).await
    }
    async fn get_range(&self, key: &str, range: Range<u64>) -> Result<Bytes, StoreError> {
        match self.1 {
            Vice::IgnoresRanges => self.0.get(key).await,
            _ => self.0.get_range(key, range).await,
        }
    }
    async fn head(&self, key: &str) -> Result<Option<ObjectInfo>, StoreError> {
        let found = self.0.head(key).await?;
        Ok(match self.1 {
            Vice::TellsWrongLengths => found.map(|found| ObjectInfo { len: 1, ..found }),
            _ => found,
        })
    }
    async fn delete(&self, key: &str) -> Result<(), StoreError> {
        match self.1 {
            Vice::KeepsDeleted => Ok(()),
            _ => self.0.delete(key).await,
        }
    }
    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>, StoreError> {
        self.0.list(prefix).await
    }
    async fn adopt(&self, disk: &dyn Disk, path: &str, key: &str) -> Result<Adopted, StoreError> {
        self.0.adopt(disk, path, key).await
    }
}

#[test]
fn bad_stores_are_told() {
    for (vice, text) in [
        (
            Vice::ReplacesOnCreate,
            "asked to create an object only if its key is free, where the key was taken, it replaced it",
        ),
        (Vice::KeepsDeleted, "asked to delete an object, it acknowledged that and kept it"),
        (Vice::IgnoresRanges, "reads of ranges have to be exact"),
        (Vice::SwapsAnything, "or two writers undo each other's work"),
        (Vice::NeverSwaps, "still the version that it is, it refused"),
        (Vice::TellsWrongLengths, "lengths have to be right"),
    ] {
        Sim::run(1, |sim| async move {
            let store = Bad(sim.store(), vice);
            let env = sim.node("node").env();
            let error = probe(&store, &*env.clock, &*env.random, "c/").await.unwrap_err();
            assert!(matches!(&error, ProbeError::Unfit { .. }), "{error}");
            assert!(error.to_string().contains(text), "{error}");
        });
    }
}

#[test]
fn a_store_that_does_not_answer_is_not_called_unfit() {
    Sim::run(1, |sim| async move {
        let mut plan = FaultPlan::calm();
        plan.store.fail_before = 1.0;
        sim.set_faults(plan);
        let env = sim.node("node").env();
        let error = probe(&sim.store(), &*env.clock, &*env.random, "c/").await.unwrap_err();
        assert!(matches!(error, ProbeError::Failed(_)), "{error}");
    });
}

#[test]
fn the_clock_of_the_store_is_measured() {
    for (jump, least, most) in [(0, 0, 0), (60_000, 59_000, 60_000), (-60_000, -60_000, -58_000)] {
        Sim::run(1, |sim| async move {
            let (store, env) = (sim.store(), sim.node("node").env());
            store.jump_clock(jump);
            let probed = probe(&store, &*env.clock, &*env.random, "").await.unwrap();
            let Probed { swaps: true, clock_ahead_ms } = probed else { panic!("{probed:?}") };
            assert!((least..=most).contains(&clock_ahead_ms), "{jump}: {clock_ahead_ms}");
            assert_eq!(store.keys(), [""; 0]);
        });
    }
}

#[test]
fn a_store_that_fails_at_times_is_asked_again() {
    let mut passed = 0;
    for seed in 0..40 {
        passed += Sim::run(seed, |sim| async move {
            let mut plan = FaultPlan::calm();
            plan.store.fail_after = 0.01;
            plan.store.throttled = 0.01;
            sim.set_faults(plan);
            let env = sim.node("node").env();
            u32::from(probe(&sim.store(), &*env.clock, &*env.random, "").await.is_ok())
        });
    }
    assert!(passed > 36, "{passed} of 40");
}
