//! A node to test on: one machine, one store, one metadata log, which outlive the processes on them.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kelda_engine::{Engine, EngineConfig, Identity};
use kelda_env::FaultDisk;
use kelda_env::sim::{Sim, SimNode, SimStore};
use kelda_format::{Batch, NodeId, Offset, Record, StreamId, StreamName};
use kelda_meta::Meta;
use kelda_metalog::{MemoryLog, MetaLog, MetaLogConfig};
use kelda_service::{
    AppendError, AppendRequest, Caller, Content, CreateError, CreateRequest, Created, Expiry, ProducerClaim,
    ProducerId, ReadError, ReadLimit, Receipt, Service, ServiceConfig, StartAt, StreamConfig, StreamInfo,
};

/// What outlives a process.
pub struct Bench {
    pub sim: Sim,
    pub machine: SimNode,
    pub store: SimStore,
    log: MemoryLog,
}

/// A process: a service and what is under it.
pub struct Node {
    pub service: Service,
    pub engine: Engine,
    pub meta: MetaLog,
    /// Faults of the disk on demand.
    pub disk: Arc<FaultDisk>,
}

/// Runs a test in a world of its own.
pub fn run<F, R>(test: F)
where
    F: FnOnce(Bench) -> R,
    R: Future<Output = ()>,
{
    run_seed(1, test);
}

/// Runs a test in a world made from `seed`.
pub fn run_seed<F, R>(seed: u64, test: F)
where
    F: FnOnce(Bench) -> R,
    R: Future<Output = ()>,
{
    Sim::run(seed, |sim| {
        let (machine, store) = (sim.node("machine"), sim.store());
        test(Bench { sim, machine, store, log: MemoryLog::new() })
    });
}

impl Bench {
    /// Starts a process on the machine.
    pub async fn start(&self) -> Node {
        let env = self.machine.env();
        let disk = Arc::new(FaultDisk::new(Arc::clone(&env.disk), Arc::clone(&env.clock)));
        let env = env.with_disk(disk.clone());
        let log = Arc::new(self.log.handle());
        let meta = MetaLog::open(env.clone(), log, MetaLogConfig::default()).await.unwrap();
        let identity =
            Identity { node: NodeId(1), address: "127.0.0.1:4437".to_owned(), cluster: meta.cluster() };
        let shared: Arc<dyn Meta> = Arc::new(meta.clone());
        let config = EngineConfig { segment_bytes: 1 << 20, ..EngineConfig::default() };
        let store = Arc::new(self.store.clone());
        let engine = Engine::start(env.clone(), Arc::clone(&shared), store, config, identity).await.unwrap();
        meta.set_session(engine.session());
        let service = Service::new(env, shared, engine.clone(), ServiceConfig::default());
        Node { service, engine, meta, disk }
    }

    /// The process is killed and another one starts.
    pub async fn restart_after_kill(&self, node: Node) -> Node {
        self.machine.kill().await;
        drop(node);
        self.start().await
    }

    /// The power fails and the machine starts again.
    pub async fn restart_after_crash(&self, node: Node) -> Node {
        self.machine.crash().await;
        drop(node);
        self.start().await
    }

    /// The process stops as it should and another one starts.
    pub async fn restart_cleanly(&self, node: Node) -> Node {
        node.service.shutdown().await;
        node.engine.shutdown().await.unwrap();
        node.meta.shutdown().await;
        drop(node);
        self.start().await
    }

    pub async fn sleep(&self, duration: Duration) {
        self.sim.sleep(duration).await;
    }
}

pub fn anybody() -> Caller {
    Caller::anonymous()
}

pub fn name(text: &str) -> StreamName {
    StreamName::parse(text).unwrap()
}

pub fn body(text: &str) -> Content {
    Content::Body(Bytes::copy_from_slice(text.as_bytes()))
}

pub fn records(bodies: &[&str]) -> Content {
    let record = |body: &&str| Record { body: Bytes::copy_from_slice(body.as_bytes()), ..Record::default() };
    Content::Records(Batch::from_records(&bodies.iter().map(record).collect::<Vec<_>>()).unwrap())
}

pub fn claim(id: &str, epoch: u64, seq: u64) -> Option<ProducerClaim> {
    Some(ProducerClaim { id: ProducerId::new(id), epoch, seq })
}

pub fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A request to create as an HTTP PUT makes it.
pub fn put(stream: &str, content_type: &str) -> CreateRequest {
    let config = StreamConfig {
        content_type: Some(content_type.to_owned()),
        expiry: Some(Expiry::Never),
        ..StreamConfig::default()
    };
    CreateRequest { config, seal: Some(false), ..CreateRequest::new(name(stream)) }
}

/// An append as an HTTP POST makes it.
pub fn post(content_type: &str, text: &str) -> AppendRequest {
    AppendRequest {
        content: body(text),
        content_type: Some(content_type.to_owned()),
        ..AppendRequest::default()
    }
}

/// An append of plain text.
pub fn plain(text: &str) -> AppendRequest {
    post("text/plain", text)
}

/// A seal without records.
pub fn seal() -> AppendRequest {
    AppendRequest { seal: true, ..AppendRequest::default() }
}

impl Node {
    pub async fn create(&self, request: CreateRequest) -> Result<Created, CreateError> {
        self.service.create(&anybody(), request).await
    }

    /// Creates a plain text stream that did not exist.
    pub async fn created(&self, stream: &str) -> StreamInfo {
        let created = self.create(put(stream, "text/plain")).await.unwrap();
        assert!(created.new, "{stream} existed");
        created.info
    }

    pub async fn append(&self, stream: &str, request: AppendRequest) -> Result<Receipt, AppendError> {
        self.service.append(&anybody(), &name(stream), request).await
    }

    pub async fn delete(&self, stream: &str) -> StreamId {
        self.service.delete(&anybody(), &name(stream), None).await.unwrap()
    }

    pub fn head(&self, stream: &str) -> Option<StreamInfo> {
        self.service.head(&anybody(), &name(stream), None).ok()
    }

    pub async fn start_at(&self, stream: &str, start: StartAt) -> Result<Offset, ReadError> {
        self.service.resolve(&anybody(), &name(stream), start, None).await.map(|position| position.offset)
    }

    /// The bodies of all records held.
    pub async fn read_all(&self, stream: &str) -> Result<Vec<String>, ReadError> {
        let name = name(stream);
        let position = self.service.resolve(&anybody(), &name, StartAt::First, None).await?;
        let limit = ReadLimit { max_bytes: 1 << 20, max_records: 1000, until: None };
        let (mut from, mut bodies) = (position.offset, Vec::new());
        loop {
            let chunk = self.service.read(&anybody(), &name, position.stream, from, limit).await?;
            for record in chunk.blocks.iter().flat_map(|block| block.records()) {
                assert_eq!(
                    record.offset,
                    from.plus(bodies.len() as u64 - (from.0 - position.offset.0)),
                    "dense"
                );
                bodies.push(String::from_utf8(record.record.body.to_vec()).unwrap());
            }
            if chunk.next == chunk.tail {
                return Ok(bodies);
            }
            from = chunk.next;
        }
    }

    /// The bodies of all records of a stream that has to be there.
    pub async fn texts(&self, stream: &str) -> Vec<String> {
        self.read_all(stream).await.unwrap()
    }
}
