//! Starting a node.
//!
//! Owns the order: refuse what is exposed, lock the data directory, bind, answer "not yet", read the metadata, claim the
//! store, recover, serve. Guarantees that a failure on the way closes what was opened.

use std::net::SocketAddr;
use std::sync::Arc;

use arc_swap::ArcSwap;
use kelda_engine::{Engine, EngineConfig, Identity};
use kelda_env::{DiskError, Env, LockGuard};
use kelda_format::ids::NodeId;
use kelda_meta::Meta;
use kelda_metalog::{LogStore, MetaLog, MetaLogConfig, SqliteLog};
use kelda_service::{Service, ServiceConfig};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{Node, Phase, PhaseCell, StartError, log, marker, meta_wal, store};
use crate::admin::{self, Admin, Backups};
use crate::amqp::{self, Amqp};
use crate::backup;
use crate::config::{Listen, NodeSettings};
use crate::http::app::App;
use crate::http::router::{Streams, Waiting};
use crate::net::accept::{self, Front};
use crate::net::{Site, bind};

/// Where the lock of the data directory is.
pub(crate) const LOCK_FILE: &str = "lock";
/// The directory of the metadata, and the file in it.
pub(crate) const META_DIR: &str = "meta";
pub(crate) const META_FILE: &str = "meta/log.sqlite";
/// SQLite's own log of what is not in the file yet.
pub(crate) const META_WAL_FILE: &str = "meta/log.sqlite-wal";
/// The directory of the write-ahead log, which is the engine's.
pub(crate) const WAL_DIR: &str = "wal";
/// The directory of the object store.
pub(crate) const OBJECTS_DIR: &str = "objects";
/// Connections that the admin listener serves at once: a few probes and people.
const MAX_ADMIN_CONNECTIONS: usize = 64;

/// A node whose data directory is locked and whose listeners are bound: what is left can take a while.
pub struct Prepared {
    env: Env,
    settings: NodeSettings,
    data_dir: String,
    lock: LockGuard,
    listen: Option<SocketAddr>,
    /// Connections wait in its queue until the node serves.
    amqp: Option<(TcpListener, SocketAddr)>,
    admin_listen: Option<SocketAddr>,
    site: Arc<ArcSwap<Box<dyn Site>>>,
    admin: Arc<Admin>,
    phase: Arc<PhaseCell>,
    stopping: CancellationToken,
    killing: CancellationToken,
    connections: TaskTracker,
    engine: EngineConfig,
}

/// Locks the data directory, which is the disk of `env`, and binds the listeners. Requests are answered from here on, with
/// "not yet".
///
/// # Errors
/// [`StartError`].
pub async fn prepare(env: Env, settings: NodeSettings) -> Result<Prepared, StartError> {
    for (setting, listen) in [
        ("listen", settings.listen),
        ("amqp-listen", settings.amqp_listen),
        ("admin-listen", settings.admin_listen),
    ] {
        if let Listen::At(address) = listen
            && listen.is_exposed()
            && !settings.allow_anonymous
        {
            return Err(StartError::Exposed { setting, address: address.to_string() });
        }
    }
    let data_dir = settings.data_dir.display().to_string();
    let lock = env.disk.lock(LOCK_FILE).await.map_err(|error| StartError::disk(&data_dir, &error))?;
    let (stopping, killing) = (CancellationToken::new(), CancellationToken::new());
    let connections = TaskTracker::new();
    let phase = Arc::new(PhaseCell::new());
    let site = served(Waiting);
    let admin = Admin::new(env.clone(), Arc::clone(&phase));
    let front = |site, max_connections| Front {
        env: env.clone(),
        site,
        max_connections,
        stopping: stopping.clone(),
        killing: killing.clone(),
        tracker: connections.clone(),
    };
    let http = open("listen", settings.listen)?;
    let amqp = open("amqp-listen", settings.amqp_listen)?;
    let admin_http = open("admin-listen", settings.admin_listen)?;
    let listen = http.as_ref().map(|(_, address)| *address);
    let admin_listen = admin_http.as_ref().map(|(_, address)| *address);
    let max_connections = usize::try_from(settings.max_connections).unwrap_or(usize::MAX);
    if let Some((listener, _)) = http {
        env.spawn("http", accept::run(front(Arc::clone(&site), max_connections), listener));
    }
    if let Some((listener, _)) = admin_http {
        let site = served(admin::router(Arc::clone(&admin)));
        env.spawn("admin", accept::run(front(site, MAX_ADMIN_CONNECTIONS), listener));
    }
    let engine = EngineConfig { object_cache_bytes: settings.object_cache.0, ..log::config(&settings) };
    Ok(Prepared {
        env,
        settings,
        engine,
        data_dir,
        lock,
        listen,
        amqp,
        admin_listen,
        site,
        admin,
        phase,
        stopping,
        killing,
        connections,
    })
}

/// A front end that another one can take the place of.
fn served(site: impl Site) -> Arc<ArcSwap<Box<dyn Site>>> {
    Arc::new(ArcSwap::from_pointee(Box::new(site)))
}

fn open(setting: &'static str, listen: Listen) -> Result<Option<(TcpListener, SocketAddr)>, StartError> {
    match listen {
        Listen::Off => Ok(None),
        Listen::At(address) => {
            let bound = bind(setting, address)?;
            Ok(Some((bound.listener, bound.address)))
        }
    }
}

impl Prepared {
    /// Replaces the engine's settings, for tests and measurements of other sizes.
    #[must_use]
    pub fn with_engine(mut self, engine: EngineConfig) -> Prepared {
        self.engine = engine;
        self
    }

    /// Reads the metadata, recovers, and serves.
    ///
    /// # Errors
    /// [`StartError`]; the listeners are closed then.
    pub async fn start(self) -> Result<Node, StartError> {
        let (stopping, killing) = (self.stopping.clone(), self.killing.clone());
        let started = self.assemble().await;
        if started.is_err() {
            stopping.cancel();
            killing.cancel();
        }
        started
    }

    async fn assemble(self) -> Result<Node, StartError> {
        let metalog = self.metalog().await?;
        let cluster = metalog.cluster();
        let opened = store::open(&self.env, &self.settings, &self.data_dir).await?;
        let in_use = metalog.view().objects().next().is_some();
        let clock_ahead = marker::claim(&opened, &self.env, cluster, in_use, &self.data_dir).await?;
        self.admin.count(opened.counts);
        self.phase.set(Phase::Recovering);
        let meta: Arc<dyn Meta> = Arc::new(metalog.clone());
        let identity = Identity { node: NodeId(self.settings.node_id), address: self.address(), cluster };
        let mut config = self.engine.clone();
        config.maintenance.retention_interval = self.settings.retention_interval;
        config.maintenance.min_free = self.settings.min_free;
        config.ahead_of_store_ms = clock_ahead.map(i64::saturating_neg);
        let place = backup::Place::opened(opened.name, Arc::clone(&opened.store));
        let health = Arc::clone(self.phase.engine());
        let store = opened.store;
        let engine =
            Engine::start_shown(self.env.clone(), Arc::clone(&meta), store, config, identity, health).await;
        let engine = match engine {
            Ok(engine) => engine,
            Err(error) => {
                metalog.shutdown().await;
                return Err(StartError::engine(&self.data_dir, &error));
            }
        };
        metalog.set_session(engine.session());
        let config = ServiceConfig::default();
        let service = Service::new(self.env.clone(), Arc::clone(&meta), engine.clone(), config);
        let ending = CancellationToken::new();
        let settings = &self.settings;
        let app = App::new(self.env.clone(), service.clone(), Arc::clone(&meta), settings, ending.clone());
        self.admin.serve(metalog.clone(), service.clone());
        self.admin.serve_backups(Backups {
            env: self.env.clone(),
            engine: engine.clone(),
            meta: Arc::clone(&meta),
            store: place,
        });
        let room = app.request_bytes.clone();
        self.site.store(Arc::new(Box::new(Streams(app))));
        let amqp_listen = self.amqp.map(|(listener, address)| {
            let amqp = Amqp {
                env: self.env.clone(),
                service: service.clone(),
                meta: Arc::clone(&meta),
                counts: self.admin.amqp(),
                consumer_timeout: self.settings.amqp_consumer_timeout,
                room: room.clone(),
                max_connections: usize::try_from(self.settings.max_connections).unwrap_or(usize::MAX),
                stopping: self.stopping.clone(),
                killing: self.killing.clone(),
                tracker: self.connections.clone(),
            };
            self.env.spawn("amqp", amqp::run(Arc::new(amqp), listener));
            address
        });
        self.phase.set(Phase::Serving);
        Ok(Node {
            env: self.env,
            settings: self.settings,
            cluster,
            listen: self.listen,
            amqp_listen,
            admin_listen: self.admin_listen,
            phase: self.phase,
            metalog,
            engine,
            service,
            stopping: self.stopping,
            ending,
            killing: self.killing,
            connections: self.connections,
            _lock: self.lock,
        })
    }

    /// Metadata that is gone is not begun anew beside what it told of.
    async fn refuse_lost_metadata(&self) -> Result<(), StartError> {
        let disk = &self.env.disk;
        let unusable = |error: DiskError| StartError::disk(&self.data_dir, &error);
        let state = match disk.exists(META_FILE).await.map_err(unusable)? {
            false => "missing",
            true if disk.len(META_FILE).await.map_err(unusable)? == 0 => "empty",
            true => return Ok(()),
        };
        for dir in [WAL_DIR, OBJECTS_DIR] {
            let names = match disk.read_dir(dir).await {
                Ok(names) => names,
                Err(error) if error.is_not_found() => continue,
                Err(error) => return Err(unusable(error)),
            };
            if !names.is_empty() {
                let detail = format!(
                    "the metadata {META_FILE} is {state}, but {dir} holds data; restore it from a copy"
                );
                return Err(StartError::Damaged { data_dir: self.data_dir.clone(), detail });
            }
        }
        Ok(())
    }

    /// SQLite takes a damaged frame of its log for the end, and would drop every commit behind it.
    async fn refuse_lost_commits(&self) -> Result<(), StartError> {
        let damaged = meta_wal::damaged_at(&*self.env.disk).await;
        match damaged.map_err(|error| StartError::disk(&self.data_dir, &error))? {
            None => Ok(()),
            Some(position) => {
                let detail = format!(
                    "{META_WAL_FILE} at byte {position}: commits follow that would be lost; restore the data directory \
                     from a copy"
                );
                Err(StartError::Damaged { data_dir: self.data_dir.clone(), detail })
            }
        }
    }

    /// Half of what was restored is not served.
    async fn refuse_unfinished(&self) -> Result<(), StartError> {
        let unfinished = backup::unfinished(&*self.env.disk).await;
        match unfinished.map_err(|error| StartError::disk(&self.data_dir, &error))? {
            None => Ok(()),
            Some(detail) => Err(StartError::Unusable { data_dir: self.data_dir.clone(), detail }),
        }
    }

    async fn metalog(&self) -> Result<MetaLog, StartError> {
        self.refuse_unfinished().await?;
        self.refuse_lost_metadata().await?;
        self.refuse_lost_commits().await?;
        let disk = &self.env.disk;
        disk.create_dir_all(META_DIR).await.map_err(|error| StartError::disk(&self.data_dir, &error))?;
        let path = store::host_path(&self.env, &self.data_dir, META_FILE)?;
        let log = SqliteLog::open(&self.env, path)
            .await
            .map_err(|error| StartError::log(&self.data_dir, &error))?;
        log.empty_wal().await.map_err(|error| StartError::log(&self.data_dir, &error))?;
        let log: Arc<dyn LogStore> = Arc::new(log);
        let opened = MetaLog::open(self.env.clone(), log, MetaLogConfig::default()).await;
        opened.map_err(|error| StartError::open(&self.data_dir, &error))
    }

    /// Where others reach this node.
    fn address(&self) -> String {
        if self.settings.advertise.is_empty() {
            self.listen.map_or_else(|| "off".to_owned(), |address| address.to_string())
        } else {
            self.settings.advertise.clone()
        }
    }
}
