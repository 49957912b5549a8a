//! The same engine on a real directory with real threads.

use std::sync::Arc;

use kelda_engine::{AppendRequest, Engine, Identity, ReadLimit};
use kelda_env::{Env, LocalStore};
use kelda_format::{NodeId, Offset, StreamId};
use kelda_metalog::{MemoryLog, MetaLog, MetaLogConfig};

use crate::world::{CLUSTER, batch, body, create, small};

async fn start(root: &std::path::Path, log: &MemoryLog) -> (MetaLog, Engine) {
    let env = Env::real(root).unwrap();
    let metalog = MetaLogConfig { cluster: Some(CLUSTER), ..MetaLogConfig::default() };
    let meta = MetaLog::open(env.clone(), Arc::new(log.handle()), metalog).await.unwrap();
    let store = Arc::new(LocalStore::open(&root.join("store")).unwrap());
    let identity = Identity { node: NodeId(1), address: "node-1".to_owned(), cluster: CLUSTER };
    let engine = Engine::start(env, Arc::new(meta.clone()), store, small(), identity).await.unwrap();
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
