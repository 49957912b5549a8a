//! The engine as the service sees it: owns the current session and the supervisor that replaces one that ended.
//! Guarantees that there is at most one session at work, and that an ended one is recovered before the next takes
//! appends (P2). Never does the work itself.

use std::sync::Arc;

use arc_swap::ArcSwap;
use kelda_env::watch;
use kelda_env::{Env, Store, TaskHandle};
use kelda_format::{SessionId, StreamId, Timestamp};
use kelda_meta::Meta;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::config::{EngineConfig, Identity};
use crate::damage::DamageLog;
use crate::error::{EndError, ShutdownError, StartError};
use crate::health::{Health, HealthCell};
use crate::hold::{CollectionHold, Holds};
use crate::maintenance::clock::ClockFault;
use crate::maintenance::{self, MaintenanceReport, Upkeep};
use crate::objects::{ObjectReader, ObjectReaderConfig};
use crate::session::{Session, Shared};
use crate::start;
use crate::stream::OpenStream;
use crate::stream::registry::Registry;
use crate::waiters::Waiters;

/// The storage engine of one node. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) shared: Arc<Shared>,
    pub(crate) current: ArcSwap<Running>,
    stopping: watch::Sender<bool>,
    supervisor: Mutex<Option<TaskHandle>>,
    /// The tasks of maintenance; they end when the engine stops.
    keepers: Mutex<Vec<TaskHandle>>,
}

impl Inner {
    /// Whether the engine stops, to watch.
    pub(crate) fn stopping(&self) -> watch::Receiver<bool> {
        self.stopping.subscribe()
    }
}

/// A session at work.
pub(crate) struct Running {
    pub(crate) session: Arc<Session>,
    pub(crate) streams: Arc<Registry>,
    /// WAL writer, preparer of segments and uploader, in the order in which they end.
    pub(crate) workers: Vec<TaskHandle>,
}

impl Engine {
    /// Registers a session, recovers what earlier sessions of this node left, and starts the write-ahead log. Ready
    /// when it returns. The caller holds the lock of the data directory.
    ///
    /// # Errors
    /// See [`StartError`]; a damaged file is reported and nothing is changed.
    pub async fn start(
        env: Env,
        meta: Arc<dyn Meta>,
        store: Arc<dyn Store>,
        config: EngineConfig,
        identity: Identity,
    ) -> Result<Engine, StartError> {
        Engine::start_shown(env, meta, store, config, identity, Arc::default()).await
    }

    /// As [`Engine::start`], with a cell in which the engine's health can be seen while it starts.
    ///
    /// # Errors
    /// As [`Engine::start`].
    pub async fn start_shown(
        env: Env,
        meta: Arc<dyn Meta>,
        store: Arc<dyn Store>,
        config: EngineConfig,
        identity: Identity,
        health: Arc<HealthCell>,
    ) -> Result<Engine, StartError> {
        let config = config.consistent();
        let objects =
            ObjectReader::new(Arc::clone(&store), ObjectReaderConfig::within(config.object_cache_bytes));
        let waiters = Waiters::default();
        let upkeep = Upkeep::new(&env);
        if let Some(ahead_ms) = config.ahead_of_store_ms {
            upkeep.clock.compare_with_store(ahead_ms);
        }
        let shared = Arc::new(Shared {
            env: env.clone(),
            meta,
            store,
            config,
            identity,
            health,
            objects,
            waiters,
            damage: DamageLog::default(),
            holds: Holds::default(),
            upkeep,
        });
        let (started, first) = oneshot::channel();
        // Recovery reads and writes files: that, as all supervision, runs where it may block.
        let handle = env.tasks.spawn_thread("kelda-engine", Box::pin(supervise(shared, started)));
        let engine =
            first.await.map_err(|_| StartError::Storage("the engine's thread ended".to_owned()))??;
        *engine.inner.supervisor.lock() = Some(handle);
        let keeper = maintenance::keep(Arc::clone(&engine.inner));
        let keeper = env.tasks.spawn_thread("kelda-maintenance", Box::pin(keeper));
        let compactor = maintenance::compact(Arc::clone(&engine.inner));
        let compactor = env.tasks.spawn_thread("kelda-compact", Box::pin(compactor));
        engine.inner.keepers.lock().extend([keeper, compactor]);
        Ok(engine)
    }

    /// The session in force. It changes when a session ends and a new one is registered.
    #[must_use]
    pub fn session(&self) -> SessionId {
        self.inner.current.load().session.id
    }

    /// What state the engine is in.
    #[must_use]
    pub fn health(&self) -> Health {
        self.inner.shared.health.get()
    }

    /// The stream, if it is open here.
    #[must_use]
    pub fn opened(&self, stream: StreamId) -> Option<Arc<OpenStream>> {
        self.inner.current.load().streams.get(stream).filter(|stream| stream.is_open())
    }

    /// The time for records and commands: the wall clock, but never more than 10 s ahead of what that should be.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.inner.shared.now()
    }

    /// What is wrong with the wall clock, if anything is: then expiry, retention and collection wait.
    #[must_use]
    pub fn clock_fault(&self) -> Option<ClockFault> {
        self.inner.shared.upkeep.clock.fault()
    }

    /// Says how many milliseconds the wall clock is ahead of the store's clock now; from then on that is what it is compared
    /// with.
    pub fn compare_clock(&self, ahead_of_store_ms: i64) {
        self.inner.shared.upkeep.clock.compare_with_store(ahead_of_store_ms);
    }

    /// Applies the limits of a stream to what is committed, at once. Does nothing for a stream that another session holds.
    ///
    /// # Errors
    /// See [`EndError`].
    pub async fn retain(&self, stream: StreamId) -> Result<(), EndError> {
        self.inner.retain_one(stream).await
    }

    /// What an operator should know of the maintenance of this node.
    #[must_use]
    pub fn maintenance(&self) -> MaintenanceReport {
        self.inner.shared.upkeep.report()
    }

    /// Does a whole round of maintenance now.
    pub async fn maintain_now(&self) {
        self.inner.keep_once().await;
    }

    /// Resolves when everything that was accepted so far is committed: true; or the session ended before: false.
    pub async fn flush(&self) -> bool {
        let running = self.inner.current.load_full();
        running.flush().await
    }

    /// Keeps the collector from deleting objects until what is returned is dropped.
    pub fn hold_collection(&self) -> CollectionHold {
        self.inner.shared.holds.hold()
    }

    /// Whether somebody keeps the collector from deleting.
    #[must_use]
    pub fn collection_is_held(&self) -> bool {
        self.inner.shared.holds.is_held()
    }

    /// Closes cleanly (P9): accepts nothing more, commits everything, releases the streams, closes the session.
    /// Takes at most `close_wait`.
    ///
    /// # Errors
    /// When something could not be committed or closed in time; it is recovered at the next start.
    pub async fn shutdown(&self) -> Result<(), ShutdownError> {
        self.inner.stopping.send_replace(true);
        let running = self.inner.current.load_full();
        let limit = self.inner.shared.config.close_wait;
        let closed = match self.inner.shared.env.timeout(limit, running.close()).await {
            Ok(closed) => closed,
            Err(_) => Err(ShutdownError(format!("not everything was committed within {limit:?}"))),
        };
        running.session.stop("shut down");
        running.streams.end_all();
        self.join(&running).await;
        self.inner.shared.health.set(Health::Ended { reason: "shut down".to_owned() });
        closed
    }

    /// Stops at once, as a crash would: whoever waits is answered that the outcome is unknown, nothing is committed
    /// or closed. For a process that must not write any more, and for tests.
    pub async fn halt(&self) {
        self.inner.stopping.send_replace(true);
        let running = self.inner.current.load_full();
        running.session.stop("halted");
        running.streams.end_all();
        self.join(&running).await;
        self.inner.shared.health.set(Health::Ended { reason: "halted".to_owned() });
    }

    async fn join(&self, running: &Running) {
        let supervisor = self.inner.supervisor.lock().take();
        if let Some(supervisor) = supervisor {
            // A supervisor that panicked has ended too.
            let _ = supervisor.join().await;
        }
        let keepers = std::mem::take(&mut *self.inner.keepers.lock());
        for keeper in keepers {
            // A keeper that panicked has ended too.
            let _ = keeper.join().await;
        }
        running.join().await;
    }
}

impl Running {
    /// Waits for the workers of an ended or closed session.
    pub(crate) async fn join(&self) {
        for worker in &self.workers {
            // A worker that panicked has ended too; the session is over in any case.
            let _ = worker.join().await;
        }
    }

    /// Resolves with the name of the first worker that stopped.
    async fn until_a_worker_stops(&self) -> &'static str {
        let joined = self.workers.iter().map(|worker| {
            Box::pin(async move {
                // How it ended is in the log of whoever ran it.
                let _ = worker.join().await;
                worker.name()
            })
        });
        futures::future::select_all(joined).await.0
    }

    /// See [`Engine::flush`]. False when the session ended.
    pub(crate) async fn flush(&self) -> bool {
        match self.session.wal.flush() {
            Some(number) => self.session.until_committed(number).await,
            None => self.session.ended().is_none(),
        }
    }
}

/// Starts sessions one after the other until the engine stops.
async fn supervise(shared: Arc<Shared>, started: oneshot::Sender<Result<Engine, StartError>>) {
    let first = match start::start_session(&shared).await {
        Ok(running) => running,
        Err(error) => {
            // The caller went away.
            let _ = started.send(Err(error));
            return;
        }
    };
    shared.health.set(Health::Ready);
    let inner = Arc::new(Inner {
        shared: Arc::clone(&shared),
        current: ArcSwap::from_pointee(first),
        stopping: watch::Sender::new(false),
        supervisor: Mutex::new(None),
        keepers: Mutex::default(),
    });
    let mut stopping = inner.stopping.subscribe();
    if started.send(Ok(Engine { inner: Arc::clone(&inner) })).is_err() {
        return;
    }
    loop {
        let running = inner.current.load_full();
        let why = tokio::select! {
            biased;
            _ = stopping.wait_for(|stopping| *stopping) => return,
            () = running.session.until_ended() => None,
            () = until_fenced(&shared, &running.session) => Some("fenced".to_owned()),
            worker = running.until_a_worker_stops() => Some(format!("the worker {worker} stopped")),
        };
        // A clean close stops the workers as well, and may have begun after the first of these was looked at.
        if *stopping.borrow() {
            return;
        }
        if let Some(why) = why {
            running.session.end(&why);
        }
        running.streams.end_all();
        let reason = running.session.ended().unwrap_or_default();
        shared.health.set(Health::Recovering { segments_left: 0, bytes_left: 0 });
        // Nothing may write to the WAL while it is read.
        running.join().await;
        let next = tokio::select! {
            biased;
            _ = stopping.wait_for(|stopping| *stopping) => return,
            next = start::restart_session(&shared) => next,
        };
        match next {
            Ok(next) => {
                tracing::info!(session = %next.session.id, "a new session took over");
                inner.current.store(Arc::new(next));
                shared.health.set(Health::Ready);
            }
            Err(StartError::Corrupt { file, position, detail }) => {
                shared.health.set(Health::Damaged { file, position, detail });
                return;
            }
            Err(error) => {
                tracing::error!(%error, "no new session could be started");
                shared.health.set(Health::Ended { reason: format!("{reason}; then: {error}") });
                return;
            }
        }
    }
}

/// Resolves when the view shows that the session may propose nothing more (P2).
async fn until_fenced(shared: &Shared, session: &Session) {
    loop {
        let view = shared.meta.view();
        let live = view.live_session(session.id.node).is_some_and(|row| row.id == session.id);
        if !live {
            return;
        }
        shared.meta.changed(view.applied()).await;
    }
}
