//! Runs each function of the suite of `kelda-env` against a store of the network.

use std::future::Future;
use std::sync::Arc;

use kelda_env::{Env, Store};

use crate::s3::Bucket;

/// What a suite is handed.
#[derive(Clone)]
pub struct World {
    pub env: Env,
    pub store: Arc<dyn Store>,
}

/// A new prefix of a bucket, if there is a server.
pub fn remote<F: Future<Output = ()>>(body: impl FnOnce(World) -> F) {
    let Some(bucket) = Bucket::new() else { return };
    let dir = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let env = Env::real(dir.path()).unwrap();
        let store = Arc::new(bucket.open(&env));
        body(World { env, store }).await;
    });
}

/// One test per function of the suite.
macro_rules! contract {
    ($($name:ident),* $(,)?) => {
        mod remote {
            $(#[test] fn $name() { $crate::contract::remote(super::$name); })*
        }
    };
}
pub(crate) use contract;
