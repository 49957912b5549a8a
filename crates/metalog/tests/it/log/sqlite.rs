//! The log on the SQLite backend, in real time.

use std::sync::Arc;

use futures::future::join_all;
use kelda_env::Env;
use kelda_meta::Meta;
use kelda_metalog::{LogStore, MetaLog, MetaLogConfig};

use super::{has, put, put_now};
use crate::backends::Sqlite;

async fn open(env: &Env, backend: &Sqlite) -> MetaLog {
    let log = Arc::new(backend.open().await.unwrap());
    let config = MetaLogConfig { snapshot_min_entries: 20, ..MetaLogConfig::default() };
    MetaLog::open(env.clone(), log, config).await.unwrap()
}

#[tokio::test]
async fn it_writes_snapshots_ends_and_goes_on() {
    let folder = tempfile::TempDir::new().unwrap();
    let env = Env::real(folder.path()).unwrap();
    let backend = Sqlite::new();
    let meta = open(&env, &backend).await;
    for round in 0..60 {
        put_now(&meta, &format!("key {round}")).await;
    }
    let burst = (0..300).map(|number| meta.propose(put(&format!("burst {number}"))));
    assert!(join_all(burst).await.iter().all(Result::is_ok));
    meta.shutdown().await;
    let before = meta.view();
    let direct = backend.open().await.unwrap();
    assert!(direct.latest_snapshot().await.unwrap().is_some());
    assert!(direct.read(1, 1).await.is_err(), "the log was truncated");

    let meta = open(&env, &backend).await;
    assert_eq!(*meta.view(), *before);
    put_now(&meta, "after").await;
    // As a crash would: nothing is closed.
    meta.abort().await;
    let meta = open(&env, &backend).await;
    assert!(has(&meta.view(), "after"));
}
