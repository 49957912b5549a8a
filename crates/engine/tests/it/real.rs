//! The same engine on a real directory with real threads.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use kelda_engine::{AppendRequest, Engine, EngineConfig, Identity, ReadLimit, WalKind};
use kelda_env::{Adopted, Clock, Disk, Env, LocalStore, ObjectInfo, RealClock, Store, StoreError, StoreOp};
use kelda_format::{NodeId, Offset, StreamId};
use kelda_metalog::{MemoryLog, MetaLog, MetaLogConfig};

use crate::world::{CLUSTER, batch, body, create, small};

async fn start(root: &std::path::Path, log: &MemoryLog) -> (MetaLog, Engine) {
    start_with(root, log, small(), |store| store).await
}

async fn start_with(
    root: &std::path::Path,
    log: &MemoryLog,
    config: EngineConfig,
    around: impl Fn(Arc<dyn Store>) -> Arc<dyn Store>,
) -> (MetaLog, Engine) {
    let env = Env::real(root).unwrap();
    let metalog = MetaLogConfig { cluster: Some(CLUSTER), ..MetaLogConfig::default() };
    let meta = MetaLog::open(env.clone(), Arc::new(log.handle()), metalog).await.unwrap();
    let store = around(Arc::new(LocalStore::open(&root.join("store")).unwrap()));
    let identity = Identity { node: NodeId(1), address: "node-1".to_owned(), cluster: CLUSTER };
    let engine = Engine::start(env, Arc::new(meta.clone()), store, config, identity).await.unwrap();
    (meta, engine)
}

async fn count(engine: &Engine, stream: StreamId) -> u64 {
    let limit = ReadLimit { max_bytes: 1 << 20, max_records: 10_000, until: None };
    let mut next = Offset::ZERO;
    loop {
        let chunk = engine.read(stream, next, limit).await.unwrap();
        next = chunk.next;
        if next == chunk.tail {
            return next.0;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn appends_on_a_real_disk_survive_halt_and_shutdown() {
    let root = tempfile::tempdir().unwrap();
    let log = MemoryLog::new();
    let (meta, engine) = start(root.path(), &log).await;
    let stream = create(&meta, "a").await;
    for round in 0..10 {
        let mut clients = Vec::new();
        for number in 0..40 {
            let open = engine.open(stream).await.unwrap();
            let request = AppendRequest::new(batch(&[&body(round * 40 + number, 1500)]));
            clients.push(async move { open.append(request).await });
        }
        for appended in futures::future::join_all(clients).await {
            appended.unwrap();
        }
    }
    assert_eq!(count(&engine, stream).await, 400);
    engine.halt().await;
    meta.abort().await;
    let (meta, engine) = start(root.path(), &log).await;
    assert_eq!(count(&engine, stream).await, 400);
    let open = engine.open(stream).await.unwrap();
    assert_eq!(open.append(AppendRequest::new(batch(&["more"]))).await.unwrap().first, Offset(400));
    engine.shutdown().await.unwrap();
    meta.shutdown().await;
    let (_, engine) = start(root.path(), &log).await;
    assert_eq!(count(&engine, stream).await, 401);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_in_the_store_survives_halt_and_shutdown_too() {
    let root = tempfile::tempdir().unwrap();
    let log = MemoryLog::new();
    let config = EngineConfig { wal: WalKind::Object, wal_linger: Duration::from_millis(5), ..small() };
    let (meta, engine) = start_with(root.path(), &log, config.clone(), |store| store).await;
    let stream = create(&meta, "a").await;
    for number in 0..100 {
        let open = engine.open(stream).await.unwrap();
        open.append(AppendRequest::new(batch(&[&body(number, 1500)]))).await.unwrap();
    }
    engine.halt().await;
    meta.abort().await;
    let (meta, engine) = start_with(root.path(), &log, config.clone(), |store| store).await;
    assert_eq!(count(&engine, stream).await, 100);
    engine.shutdown().await.unwrap();
    meta.shutdown().await;
    let (_, engine) = start_with(root.path(), &log, config, |store| store).await;
    assert_eq!(count(&engine, stream).await, 100);
}

/// A store that takes nothing, so that everything stays in the log.
struct Refusing(Arc<dyn Store>);

fn refused<T>(key: &str, op: StoreOp) -> Result<T, StoreError> {
    Err(StoreError::failed(key, op, "it takes nothing now"))
}

#[async_trait]
impl Store for Refusing {
    async fn put_if_absent(&self, key: &str, body: Bytes) -> Result<(), StoreError> {
        self.0.put_if_absent(key, body).await
    }
    async fn put(&self, key: &str, _body: Bytes) -> Result<(), StoreError> {
        refused(key, StoreOp::Put)
    }
    async fn get(&self, key: &str) -> Result<Bytes, StoreError> {
        self.0.get(key).await
    }
    async fn get_range(&self, key: &str, range: Range<u64>) -> Result<Bytes, StoreError> {
        self.0.get_range(key, range).await
    }
    async fn head(&self, key: &str) -> Result<Option<ObjectInfo>, StoreError> {
        self.0.head(key).await
    }
    async fn delete(&self, key: &str) -> Result<(), StoreError> {
        self.0.delete(key).await
    }
    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>, StoreError> {
        self.0.list(prefix).await
    }
    async fn adopt(&self, _disk: &dyn Disk, _path: &str, key: &str) -> Result<Adopted, StoreError> {
        refused(key, StoreOp::Adopt)
    }
}

/// Measures, and says how fast: `cargo test -p kelda-engine --test it -- --ignored --nocapture recovery_is_fast`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it writes a log of 512 MiB and measures"]
async fn recovery_is_fast() {
    let clock = RealClock::new();
    for wal in [WalKind::Local, WalKind::Object] {
        let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let log = MemoryLog::new();
        let config = EngineConfig { wal, uncommitted_bytes: 1 << 30, ..EngineConfig::default() };
        let around = |store| -> Arc<dyn Store> { Arc::new(Refusing(store)) };
        let (meta, engine) = start_with(root.path(), &log, config.clone(), around).await;
        let stream = create(&meta, "a").await;
        let text = body(1, 1024);
        let bodies: Vec<&str> = (0..256).map(|_| text.as_str()).collect();
        let open = engine.open(stream).await.unwrap();
        for _ in 0..256 {
            let appends = (0..8).map(|_| open.append(AppendRequest::new(batch(&bodies))));
            for appended in futures::future::join_all(appends).await {
                appended.unwrap();
            }
        }
        engine.halt().await;
        meta.abort().await;
        let started = clock.monotonic();
        let (_, engine) = start_with(root.path(), &log, config, |store| store).await;
        let taken = clock.monotonic() - started;
        println!("{wal:?}: 512 MiB in {taken:?}, {:.0} MiB/s", 512.0 / taken.as_secs_f64());
        assert_eq!(count(&engine, stream).await, 256 * 8 * 256);
        engine.halt().await;
    }
}
