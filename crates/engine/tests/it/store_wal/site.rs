//! Machines that share a metadata log and a store, and the gate before each: a place to stop a machine's requests, as a pause
//! of the process or a slow network does.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use kelda_engine::{AppendError, Appended, Engine, EngineConfig, StartError, WalKind};
use kelda_env::sim::{Sim, SimNode, SimStore};
use kelda_env::{Adopted, Disk, ObjectInfo, Store, StoreError, Tag, watch};
use kelda_format::{NodeId, Outcome, SessionId, StreamId};
use kelda_meta::{Command, Meta, ProposeError, State};
use kelda_metalog::{MemoryLog, MetaLog};
use parking_lot::Mutex;

use crate::world::{create, identity, open_meta, read_all, request, small};

/// Which requests wait before they are sent: those whose operation and key it is true for.
type Holds = Arc<dyn Fn(&str, &str) -> bool + Send + Sync>;

/// What stands between a machine and the rest of the world.
#[derive(Clone)]
pub struct Gate {
    holds: Arc<watch::Sender<Holds>>,
    /// Nothing of the outside reaches the machine, and nothing new leaves it.
    paused: Arc<watch::Sender<bool>>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Gate {
    fn new() -> Gate {
        Gate {
            holds: Arc::new(watch::Sender::new(Arc::new(|_, _| false))),
            paused: Arc::new(watch::Sender::new(false)),
            requests: Arc::default(),
        }
    }

    /// From now on requests wait for which `holds` is true; those that wait look again.
    pub fn hold(&self, holds: impl Fn(&str, &str) -> bool + Send + Sync + 'static) {
        self.holds.send_replace(Arc::new(holds));
    }

    pub fn open(&self) {
        self.hold(|_, _| false);
    }

    pub fn pause(&self) {
        self.paused.send_replace(true);
    }

    pub fn resume(&self) {
        self.paused.send_replace(false);
    }

    /// The operations and keys of all requests so far.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().clone()
    }

    async fn running(&self) {
        let mut paused = self.paused.subscribe();
        let _ = paused.wait_for(|paused| !paused).await;
    }

    async fn pass(&self, op: &str, key: &str) {
        let mut holds = self.holds.subscribe();
        let _ = holds.wait_for(|holds| !holds(op, key)).await;
        self.running().await;
        self.requests.lock().push(format!("{op} {key}"));
    }
}

/// The store behind a gate.
struct GatedStore {
    inner: SimStore,
    gate: Gate,
}

impl GatedStore {
    async fn request<T>(&self, op: &str, key: &str, request: impl Future<Output = T>) -> T {
        self.gate.pass(op, key).await;
        let answer = request.await;
        self.gate.running().await;
        answer
    }
}

#[async_trait]
impl Store for GatedStore {
    async fn put_if_absent(&self, key: &str, body: Bytes) -> Result<(), StoreError> {
        self.request("create", key, self.inner.put_if_absent(key, body)).await
    }
    async fn put(&self, key: &str, body: Bytes) -> Result<(), StoreError> {
        self.request("put", key, self.inner.put(key, body)).await
    }
    async fn swap(&self, key: &str, body: Bytes, expected: &Tag) -> Result<Tag, StoreError> {
        self.request("swap", key, self.inner.swap(key, body, expected)).await
    }
    async fn get(&self, key: &str) -> Result<Bytes, StoreError> {
        self.request("get", key, self.inner.get(key)).await
    }
    async fn get_range(&self, key: &str, range: Range<u64>) -> Result<Bytes, StoreError> {
        self.request("get", key, self.inner.get_range(key, range)).await
    }
    async fn head(&self, key: &str) -> Result<Option<ObjectInfo>, StoreError> {
        self.request("head", key, self.inner.head(key)).await
    }
    async fn delete(&self, key: &str) -> Result<(), StoreError> {
        self.request("delete", key, self.inner.delete(key)).await
    }
    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>, StoreError> {
        self.request("list", prefix, self.inner.list(prefix)).await
    }
    async fn adopt(&self, disk: &dyn Disk, path: &str, key: &str) -> Result<Adopted, StoreError> {
        self.request("adopt", key, self.inner.adopt(disk, path, key)).await
    }
}

/// The metadata log behind a gate: while it is paused, the view stays what it was.
struct GatedMeta {
    inner: MetaLog,
    gate: Gate,
    seen: Mutex<Arc<State>>,
}

impl Meta for GatedMeta {
    fn view(&self) -> Arc<State> {
        let mut seen = self.seen.lock();
        if !*self.gate.paused.borrow() {
            *seen = self.inner.view();
        }
        Arc::clone(&seen)
    }

    fn propose(&self, command: Command) -> BoxFuture<'static, Result<Outcome, ProposeError>> {
        let (gate, inner) = (self.gate.clone(), self.inner.clone());
        async move {
            gate.running().await;
            let outcome = inner.propose(command).await;
            gate.running().await;
            outcome
        }
        .boxed()
    }

    fn changed(&self, after: u64) -> BoxFuture<'static, ()> {
        let (gate, inner) = (self.gate.clone(), self.inner.clone());
        async move {
            inner.changed(after).await;
            gate.running().await;
        }
        .boxed()
    }
}

/// What machines share.
#[derive(Clone)]
pub struct Site {
    pub sim: Sim,
    pub store: SimStore,
    pub log: MemoryLog,
    pub config: EngineConfig,
}

/// One machine and its process.
pub struct Machine {
    pub node: SimNode,
    pub gate: Gate,
    pub meta: MetaLog,
    pub engine: Engine,
}

/// Small ranges in the store.
pub fn in_store() -> EngineConfig {
    EngineConfig { wal: WalKind::Object, ..small() }
}

impl Site {
    pub fn new(sim: &Sim) -> Site {
        Site::with(sim, in_store())
    }

    pub fn with(sim: &Sim, config: EngineConfig) -> Site {
        Site { sim: sim.clone(), store: sim.store(), log: MemoryLog::new(), config }
    }

    /// A machine with a process that is `id` of the cluster.
    pub async fn machine(&self, id: u64) -> Machine {
        let node = self.sim.node(&format!("machine-{id}"));
        self.process(&node, id).await.unwrap()
    }

    /// A process on a machine.
    pub async fn process(&self, node: &SimNode, id: u64) -> Result<Machine, StartError> {
        let meta = open_meta(node, &self.log).await;
        let gate = Gate::new();
        let store = GatedStore { inner: self.store.clone(), gate: gate.clone() };
        let gated = GatedMeta { inner: meta.clone(), gate: gate.clone(), seen: Mutex::new(meta.view()) };
        let config = self.config.clone();
        let engine =
            Engine::start(node.env(), Arc::new(gated), Arc::new(store), config, identity(NodeId(id))).await?;
        Ok(Machine { node: node.clone(), gate, meta, engine })
    }

    /// The keys of slots and seals of a session.
    pub fn slots(&self, session: SessionId) -> Vec<String> {
        let prefix = kelda_format::keys::wal_prefix(crate::world::CLUSTER, session);
        self.store.keys().into_iter().filter(|key| key.starts_with(&prefix)).collect()
    }

    /// The keys of data objects.
    pub fn objects(&self) -> Vec<String> {
        let prefix = kelda_format::keys::data_prefix(crate::world::CLUSTER);
        self.store.keys().into_iter().filter(|key| key.starts_with(&prefix)).collect()
    }
}

impl Machine {
    pub async fn create(&self, name: &str) -> StreamId {
        create(&self.meta, name).await
    }

    pub async fn append(&self, stream: StreamId, body: &str) -> Result<Appended, AppendError> {
        self.engine.open(stream).await.unwrap().append(request(&[body])).await
    }

    pub async fn read_all(&self, stream: StreamId) -> Vec<String> {
        read_all(&self.engine, stream).await
    }

    pub fn view(&self) -> Arc<State> {
        self.meta.view()
    }

    pub fn wal_start(&self) -> u64 {
        self.view().session(self.engine.session()).unwrap().wal_start
    }
}

/// Long enough for anything that is under way.
pub const LONG: Duration = Duration::from_secs(30);

/// Whether a key is that of slot `number` of any session.
pub fn is_slot(key: &str, number: u64) -> bool {
    key.contains("/wal/") && key.ends_with(&format!("/{number:020}"))
}
