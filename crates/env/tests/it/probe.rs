//! The probe passes good stores and tells bad ones.

use std::ops::Range;

use async_trait::async_trait;
use bytes::Bytes;
use kelda_env::sim::{FaultPlan, Sim, SimStore};
use kelda_env::{Adopted, Disk, ObjectInfo, ProbeError, Store, StoreError, probe};

use crate::contract::{World, contract};

contract!(good_stores_pass_and_are_left_clean);

async fn good_stores_pass_and_are_left_clean(World { env, store }: World) {
    probe(&*store, &*env.random, "c/").await.unwrap();
    probe(&*store, &*env.random, "").await.unwrap();
    assert_eq!(store.list("").await.unwrap(), []);
}

/// What a store does wrong.
#[derive(Clone, Copy, PartialEq)]
enum Vice {
    ReplacesOnCreate,
    KeepsDeleted,
    IgnoresRanges,
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
        self.0.head(key).await
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
        (Vice::ReplacesOnCreate, "create-if-absent"),
        (Vice::KeepsDeleted, "delete"),
        (Vice::IgnoresRanges, "range"),
    ] {
        Sim::run(1, |sim| async move {
            let store = Bad(sim.store(), vice);
            let error = probe(&store, &*sim.random(), "c/").await.unwrap_err();
            assert!(matches!(&error, ProbeError::Unfit(reason) if reason.contains(text)), "{error}");
        });
    }
}

#[test]
fn a_store_that_does_not_answer_is_not_called_unfit() {
    Sim::run(1, |sim| async move {
        let mut plan = FaultPlan::calm();
        plan.store.fail_before = 1.0;
        sim.set_faults(plan);
        let error = probe(&sim.store(), &*sim.random(), "c/").await.unwrap_err();
        assert!(matches!(error, ProbeError::Failed(_)), "{error}");
    });
}
