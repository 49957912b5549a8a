//! A node with an engine in a simulated world, and what tests ask of it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kelda_engine::{
    AppendError, AppendRequest, Appended, Engine, EngineConfig, Health, Identity, OpenStream, ProducerClaim,
    ReadLimit, StartError,
};
use kelda_env::layers::{Counted, StoreCounts};
use kelda_env::sim::{Sim, SimNode, SimStore};
use kelda_format::command::CreateStream;
use kelda_format::rows::{Expiry, ProducerId, Retention, StreamKind};
use kelda_format::{Batch, ClusterId, NodeId, Offset, Outcome, Record, StreamId, StreamName, Timestamp};
use kelda_meta::{Meta, State};
use kelda_metalog::{MemoryLog, MetaLog, MetaLogConfig};

pub const CLUSTER: ClusterId = ClusterId([7; 16]);

/// What of a node survives a crash, and its current life.
pub struct World {
    pub sim: Sim,
    pub node: SimNode,
    pub store: SimStore,
    pub log: MemoryLog,
    pub config: EngineConfig,
    pub meta: MetaLog,
    pub engine: Engine,
    /// What the engine of this life asked the store for.
    pub counts: Arc<StoreCounts>,
}

/// Small segments, so that tests fill some.
pub fn small() -> EngineConfig {
    EngineConfig {
        segment_bytes: 64 << 10,
        wal_queue_bytes: 256 << 10,
        uncommitted_bytes: 512 << 10,
        cache_tail_bytes: 128 << 10,
        space_wait: Duration::from_secs(2),
        ..EngineConfig::default()
    }
}

/// A new stream that nobody holds.
pub async fn create(meta: &MetaLog, name: &str) -> StreamId {
    let command = CreateStream {
        name: StreamName::parse(name).unwrap(),
        kind: StreamKind::Stream,
        content_type: "text/plain".to_owned(),
        expiry: Expiry::Never,
        retention: Retention::default(),
        arguments: Vec::new(),
        parent: None,
        initialising: false,
        at: Timestamp(1),
        open: None,
    };
    match meta.propose(command.into()).await.unwrap() {
        Outcome::Created { stream, .. } => stream,
        other => panic!("{other:?}"),
    }
}

impl World {
    pub async fn new(sim: &Sim) -> World {
        World::with(sim, small()).await
    }

    pub async fn with(sim: &Sim, config: EngineConfig) -> World {
        let node = sim.node("a");
        let store = sim.store();
        let log = MemoryLog::new();
        let (meta, engine, counts) = start(&node, &store, &log, &config).await;
        World { sim: sim.clone(), node, store, log, config, meta, engine: engine.unwrap(), counts }
    }

    /// The power fails, and the node starts again.
    pub async fn crash(&mut self) {
        self.node.crash().await;
        self.restart().await.unwrap();
    }

    /// The process is killed, and starts again.
    pub async fn kill(&mut self) {
        self.node.kill().await;
        self.restart().await.unwrap();
    }

    /// Starts again after the node ended.
    pub async fn restart(&mut self) -> Result<(), StartError> {
        let (meta, engine, counts) = start(&self.node, &self.store, &self.log, &self.config).await;
        self.meta = meta;
        self.counts = counts;
        self.engine = engine?;
        Ok(())
    }

    pub fn view(&self) -> Arc<State> {
        self.meta.view()
    }

    /// A new stream.
    pub async fn create(&self, name: &str) -> StreamId {
        create(&self.meta, name).await
    }

    pub async fn open(&self, stream: StreamId) -> Arc<OpenStream> {
        self.engine.open(stream).await.unwrap()
    }

    pub async fn append(&self, stream: StreamId, bodies: &[&str]) -> Result<Appended, AppendError> {
        self.open(stream).await.append(request(bodies)).await
    }

    /// All records of a stream, read to its tail.
    pub async fn read_all(&self, stream: StreamId) -> Vec<String> {
        self.read_from(stream, Offset::ZERO).await
    }

    pub async fn read_from(&self, stream: StreamId, from: Offset) -> Vec<String> {
        read_from(&self.engine, stream, from).await
    }

    /// Waits until the engine is in a state, for at most a minute of virtual time.
    pub async fn until(&self, wanted: impl Fn(&Health) -> bool) {
        for _ in 0..6000 {
            if wanted(&self.engine.health()) {
                return;
            }
            self.sim.sleep(Duration::from_millis(10)).await;
        }
        panic!("still {:?}", self.engine.health());
    }

    /// The files of the write-ahead log.
    pub fn wal_files(&self) -> Vec<String> {
        self.node.files().into_iter().filter(|path| path.starts_with("wal/")).collect()
    }

    /// How many objects lie in the store.
    pub fn objects(&self) -> usize {
        self.store.keys().len()
    }
}

async fn start(
    node: &SimNode,
    store: &SimStore,
    log: &MemoryLog,
    config: &EngineConfig,
) -> (MetaLog, Result<Engine, StartError>, Arc<StoreCounts>) {
    let meta = open_meta(node, log).await;
    let store = Counted::new(Arc::new(store.clone()));
    let counts = store.counts();
    let shared = Arc::new(meta.clone());
    let engine =
        Engine::start(node.env(), shared, Arc::new(store), config.clone(), identity(NodeId(1))).await;
    (meta, engine, counts)
}

/// The metadata plane of a process on `node`.
pub async fn open_meta(node: &SimNode, log: &MemoryLog) -> MetaLog {
    let metalog = MetaLogConfig { cluster: Some(CLUSTER), ..MetaLogConfig::default() };
    MetaLog::open(node.env(), Arc::new(log.clone()), metalog).await.unwrap()
}

pub fn identity(node: NodeId) -> Identity {
    Identity { node, address: format!("node-{node}"), cluster: CLUSTER }
}

/// All records of a stream, read to its tail.
pub async fn read_all(engine: &Engine, stream: StreamId) -> Vec<String> {
    read_from(engine, stream, Offset::ZERO).await
}

async fn read_from(engine: &Engine, stream: StreamId, from: Offset) -> Vec<String> {
    let limit = ReadLimit { max_bytes: 1 << 20, max_records: 1000, until: None };
    let mut found = Vec::new();
    let mut next = from;
    loop {
        let chunk = engine.read(stream, next, limit).await.unwrap();
        for block in &chunk.blocks {
            for stored in block.records() {
                assert_eq!(stored.offset, next, "offsets are dense");
                next = next.plus(1);
                found.push(String::from_utf8(stored.record.body.to_vec()).unwrap());
            }
        }
        assert_eq!(chunk.next, next);
        if next == chunk.tail {
            return found;
        }
    }
}

pub fn batch(bodies: &[&str]) -> Batch {
    let records: Vec<Record> =
        bodies.iter().map(|body| Record::new(Bytes::copy_from_slice(body.as_bytes()))).collect();
    Batch::from_records(&records).unwrap()
}

pub fn request(bodies: &[&str]) -> AppendRequest {
    AppendRequest::new(batch(bodies))
}

pub fn claimed(bodies: &[&str], id: &str, epoch: u64, seq: u64) -> AppendRequest {
    AppendRequest { producer: Some(claim(id, epoch, seq)), ..request(bodies) }
}

pub fn claim(id: &str, epoch: u64, seq: u64) -> ProducerClaim {
    ProducerClaim { id: ProducerId::new(id), epoch, seq }
}

/// A body of `len` bytes that says which it is.
pub fn body(number: usize, len: usize) -> String {
    format!("{number:08}{}", "x".repeat(len.saturating_sub(8)))
}

/// What became of a client's append at the moment of a crash: its result, or nothing when the answer never came.
pub async fn outcome<T>(client: tokio::task::JoinHandle<T>) -> Option<T> {
    if client.is_finished() {
        return Some(client.await.unwrap());
    }
    client.abort();
    None
}
