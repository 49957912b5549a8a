//! Machines with what outlives their processes, and the process of the moment: owns starting and ending it, and the change
//! from one machine to the other. Guarantees that a client's call into a process that ended answers that it is gone, never
//! judges.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kelda_engine::{Engine, EngineConfig, Identity, MaintenanceConfig, StartError, WalKind};
use kelda_env::sim::{Sim, SimNode, SimStore};
use kelda_env::{Env, Random as _, watch};
use kelda_format::NodeId;
use kelda_format::rows::SessionState;
use kelda_meta::Meta;
use kelda_metalog::memory::FaultRates;
use kelda_metalog::{MemoryLog, MetaLog, MetaLogConfig};
use kelda_service::{Service, ServiceConfig};

/// A start under faults is tried so often before the run is taken for broken.
const START_ATTEMPTS: u32 = 400;
/// Pause between two starts.
const START_PAUSE: Duration = Duration::from_millis(200);

/// A process: a service and what is under it.
#[derive(Clone)]
pub struct Life {
    /// What clients call.
    pub service: Service,
    /// Under it.
    pub engine: Engine,
    /// Under that.
    pub meta: MetaLog,
}

/// Two machines that share a metadata log and a store; one of them serves.
pub struct World {
    /// The world's time and randomness.
    pub sim: Sim,
    /// Where the write-ahead log lies in this world.
    pub wal: WalKind,
    /// The object store.
    pub store: SimStore,
    machines: [SimNode; 2],
    serving: AtomicUsize,
    log: MemoryLog,
    life: watch::Sender<Option<Life>>,
}

/// Small segments and bounds, so that a short run seals, commits and blocks.
fn config(wal: WalKind) -> EngineConfig {
    EngineConfig {
        wal,
        segment_bytes: 48 << 10,
        wal_queue_bytes: 128 << 10,
        uncommitted_bytes: 256 << 10,
        cache_tail_bytes: 64 << 10,
        space_wait: Duration::from_secs(1),
        maintenance: MaintenanceConfig {
            retention_interval: Duration::from_millis(500),
            garbage_interval: Duration::from_millis(400),
            destroy_grace: Duration::from_millis(500),
            reservation_age: Duration::from_secs(4),
            orphan_age: Duration::from_secs(60),
            sweep_delay: Duration::from_secs(1),
            sweep_interval: Duration::from_secs(5),
            compact_interval: Duration::from_millis(300),
            compact_memory: 64 << 10,
            ..MaintenanceConfig::default()
        },
        ..EngineConfig::default()
    }
}

impl World {
    /// Machines that were never started. The seed says where the write-ahead log lies.
    #[must_use]
    pub fn new(sim: &Sim) -> Arc<World> {
        let log = MemoryLog::simulated(sim.node("log").env(), FaultRates::default());
        let machines = [sim.node("machine"), sim.node("other")];
        Arc::new(World {
            sim: sim.clone(),
            wal: if sim.seed().is_multiple_of(2) { WalKind::Object } else { WalKind::Local },
            store: sim.store(),
            machines,
            serving: AtomicUsize::new(0),
            log,
            life: watch::Sender::new(None),
        })
    }

    /// The machine that serves.
    #[must_use]
    pub fn machine(&self) -> &SimNode {
        &self.machines[self.serving.load(Ordering::SeqCst)]
    }

    /// How often the metadata log fails, and how long it takes.
    pub fn set_log_faults(&self, rates: FaultRates) {
        self.log.set_rates(rates);
    }

    /// Starts a process; under faults as often as it takes.
    ///
    /// # Panics
    /// When the process says that its files are damaged or foreign, or never starts.
    pub async fn start(&self) {
        for _ in 0..START_ATTEMPTS {
            match self.attempt().await {
                Ok(life) => {
                    self.life.send_replace(Some(life));
                    return;
                }
                Err(error @ (StartError::Corrupt { .. } | StartError::Foreign { .. })) => {
                    panic!("seed {}: a false alarm: {error}\n{}", self.sim.seed(), self.sim.recent_trace());
                }
                Err(error) => self.sim.note(&format!("start failed: {error}")),
            }
            self.machine().kill().await;
            self.sim.sleep(START_PAUSE).await;
        }
        panic!("seed {}: never started\n{}", self.sim.seed(), self.sim.recent_trace());
    }

    async fn attempt(&self) -> Result<Life, StartError> {
        let env: Env = self.machine().env();
        let log = Arc::new(self.log.handle());
        let opened = MetaLog::open(env.clone(), log, MetaLogConfig::default()).await;
        let meta = opened.map_err(|error| StartError::Meta(error.to_string()))?;
        let address = "127.0.0.1:4437".to_owned();
        let identity = Identity { node: self.node(), address, cluster: meta.cluster() };
        let shared: Arc<dyn Meta> = Arc::new(meta.clone());
        let store = Arc::new(self.store.clone());
        let engine =
            Engine::start(env.clone(), Arc::clone(&shared), store, config(self.wal), identity).await?;
        meta.set_session(engine.session());
        let service = Service::new(env, shared, engine.clone(), ServiceConfig::default());
        Ok(Life { service, engine, meta })
    }

    /// The power fails: what was not synced may be lost or torn.
    pub async fn crash(&self) {
        self.life.send_replace(None);
        self.machine().crash().await;
    }

    /// The process is killed.
    pub async fn kill(&self) {
        self.life.send_replace(None);
        self.machine().kill().await;
    }

    /// The node of the machine that serves.
    fn node(&self) -> NodeId {
        NodeId(self.serving.load(Ordering::SeqCst) as u64 + 1)
    }

    /// The other machine takes over, while the process of this one runs on for a while and does not know.
    pub async fn fail_over(&self) {
        let (old, from) = (self.life.send_replace(None), self.machine().clone());
        self.serving.fetch_xor(1, Ordering::SeqCst);
        for _ in 0..START_ATTEMPTS {
            match self.attempt().await {
                Ok(life) if self.take_over_others(&life).await => {
                    self.life.send_replace(Some(life));
                    break;
                }
                Ok(_) => self.sim.note("taking over failed"),
                Err(error @ (StartError::Corrupt { .. } | StartError::Foreign { .. })) => {
                    panic!("seed {}: a false alarm: {error}\n{}", self.sim.seed(), self.sim.recent_trace());
                }
                Err(error) => self.sim.note(&format!("start failed: {error}")),
            }
            self.machine().kill().await;
            self.sim.sleep(START_PAUSE).await;
        }
        self.sim.sleep(Duration::from_millis(self.sim.random().below(2000))).await;
        drop(old);
        from.kill().await;
        // What the old process registered after it was fenced may hold streams too.
        for _ in 0..START_ATTEMPTS {
            let Some(life) = self.life() else { return };
            if self.take_over_others(&life).await {
                return;
            }
            self.sim.sleep(START_PAUSE).await;
        }
    }

    /// Fences and recovers every session of the other machine. False when that has to be tried again.
    async fn take_over_others(&self, life: &Life) -> bool {
        let sessions: Vec<_> = {
            let view = life.meta.view();
            let unended = |state| matches!(state, SessionState::Live | SessionState::Fenced);
            let rows = view.sessions().filter(|row| row.id.node != self.node() && unended(row.state));
            rows.map(|row| row.id).collect()
        };
        for session in sessions {
            match life.engine.take_over(session).await {
                Ok(()) => {}
                Err(error @ (StartError::Corrupt { .. } | StartError::Foreign { .. })) => {
                    panic!("seed {}: a false alarm: {error}\n{}", self.sim.seed(), self.sim.recent_trace());
                }
                Err(error) => {
                    self.sim.note(&format!("take-over of {session} failed: {error}"));
                    return false;
                }
            }
        }
        true
    }

    /// The process stops as it should; under faults that may take a kill.
    pub async fn stop(&self) {
        if let Some(life) = self.life.send_replace(None) {
            life.service.shutdown().await;
            let closed = life.engine.shutdown().await;
            life.meta.shutdown().await;
            if let Err(error) = closed {
                self.sim.note(&format!("not closed cleanly: {error}"));
            }
        }
        self.machine().kill().await;
    }

    /// The process of the moment.
    #[must_use]
    pub fn life(&self) -> Option<Life> {
        self.life.borrow().clone()
    }

    /// Calls the service of the process of the moment, or of the next one. `None` when the process ended before it
    /// answered: then the outcome is unknown.
    pub async fn call<T, F>(&self, call: impl FnOnce(Service) -> F) -> Option<T>
    where
        F: Future<Output = T>,
    {
        let mut watching = self.life.subscribe();
        watching.wait_for(Option::is_some).await.ok()?;
        let life = watching.borrow().clone()?;
        tokio::select! {
            biased;
            _ = watching.changed() => None,
            answer = call(life.service) => Some(answer),
        }
    }
}
