//! Runs each function of a suite in every world.

use std::future::Future;
use std::sync::Arc;

use kelda_env::sim::{FaultPlan, Sim};
use kelda_env::{Env, FaultDisk, LocalStore, Store};

/// What a suite is handed.
#[derive(Clone)]
pub struct World {
    pub env: Env,
    pub store: Arc<dyn Store>,
}

/// The host's file system in a temporary directory.
pub fn real<F: Future<Output = ()>>(body: impl FnOnce(World) -> F) {
    let dir = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let env = Env::real(&dir.path().join("data")).unwrap();
        let store = Arc::new(LocalStore::open(&dir.path().join("objects")).unwrap());
        body(World { env, store }).await;
    });
}

/// The simulated world, with delays and interleaving but without failures, under several seeds.
pub fn simulated<F: Future<Output = ()>>(body: impl Fn(World) -> F) {
    for seed in 0..20 {
        Sim::run(seed, |sim| {
            sim.set_faults(if seed == 0 { FaultPlan::calm() } else { FaultPlan::slow() });
            body(World { env: sim.node("node").env(), store: Arc::new(sim.store()) })
        });
    }
}

/// The fault layer with no fault set, over the host's file system.
pub fn layered<F: Future<Output = ()>>(body: impl FnOnce(World) -> F) {
    real(|world| {
        let disk = FaultDisk::new(world.env.disk.clone(), world.env.clock.clone());
        body(World { env: world.env.with_disk(Arc::new(disk)), ..world })
    });
}

/// One test per function of the suite and world.
macro_rules! contract {
    ($($name:ident),* $(,)?) => {
        mod real {
            $(#[test] fn $name() { $crate::contract::real(super::$name); })*
        }
        mod simulated {
            $(#[test] fn $name() { $crate::contract::simulated(super::$name); })*
        }
        mod layered {
            $(#[test] fn $name() { $crate::contract::layered(super::$name); })*
        }
    };
}
pub(crate) use contract;
