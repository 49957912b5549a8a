//! From nothing to a session at work: registers (P2), recovers what earlier sessions left, starts the workers of the
//! WAL. Guarantees that no worker runs before recovery is complete. Never takes part in the work afterwards.

use std::sync::Arc;

use kelda_env::DiskError;
use kelda_format::SessionId;
use kelda_format::command::{CloseSession, RegisterNode};
use kelda_format::rows::{FeatureRange, Nonce, SessionState, WalKind};
use kelda_format::wal::{ENTRY_HEADER_BYTES, SEGMENT_HEADER_BYTES};
use kelda_meta::{FIRST_FEATURE_LEVEL, Outcome, Rejection};
use tokio::sync::mpsc;

use crate::engine::Running;
use crate::error::{ShutdownError, StartError};
use crate::propose::{Failure, propose};
use crate::recovery::{self, Examined};
use crate::retry::Backoff;
use crate::session::{Session, Shared};
use crate::stream::registry::Registry;
use crate::upload;
use crate::wal::local::queue::WalQueue;
use crate::wal::local::room::Room;
use crate::wal::local::segment::{self, TAIL_BYTES};
use crate::wal::local::{prepare, writer};
use crate::wal::store::queue::SlotQueue;
use crate::wal::{Wal, store};

/// How often registration is tried when the node's session changes under it.
const REGISTER_TRIES: u32 = 4;

/// How often a new session is tried while disk or store fail, before the engine gives up.
const STORAGE_TRIES: u32 = 10;

/// The feature levels that this software knows.
const FEATURES: FeatureRange = FeatureRange { min: FIRST_FEATURE_LEVEL, max: FIRST_FEATURE_LEVEL };

/// Registers, recovers, starts.
pub(crate) async fn start_session(shared: &Arc<Shared>) -> Result<Running, StartError> {
    let found = shared.meta.view().cluster();
    if found != shared.identity.cluster {
        return Err(StartError::Foreign {
            file: "the metadata log".to_owned(),
            detail: format!("it is of cluster {found}, this node belongs to {}", shared.identity.cluster),
        });
    }
    let examined = recovery::run::check(shared).await?;
    let id = register(shared).await?;
    tracing::info!(session = %id, "session registered");
    if let Err(error) = recover_all(shared, id, examined).await {
        // A session that never held anything leaves nothing to recover, however often a start is tried.
        let _ = propose(shared, CloseSession { session: id, wal_start: 0 }).await;
        return Err(error);
    }
    match shared.config.wal {
        WalKind::Local => start_local(shared, id).await.map_err(|error| recovery::run::storage(&error)),
        WalKind::Object => Ok(start_store(shared, id)),
    }
}

/// Recovers every ended session of this node, for the live session `by`, each by the kind of its log.
async fn recover_all(
    shared: &Arc<Shared>,
    by: SessionId,
    mut examined: Vec<Examined>,
) -> Result<(), StartError> {
    let sessions: Vec<(SessionId, WalKind)> = {
        let view = shared.meta.view();
        let rows = view.sessions().filter(|row| row.id.node == by.node && row.state == SessionState::Fenced);
        rows.map(|row| (row.id, row.wal)).collect()
    };
    for (session, wal) in sessions {
        match wal {
            WalKind::Local => recovery::run::recover(shared, session, by, &mut examined).await?,
            WalKind::Object => recovery::store::recover(shared, session, by, Some(&shared.health)).await?,
        }
    }
    Ok(())
}

/// A log on the disk: its workers block, each on a thread of its own.
async fn start_local(shared: &Arc<Shared>, id: SessionId) -> Result<Running, DiskError> {
    shared.env.disk.create_dir_all(&segment::dir(id)).await?;
    // Before a stream can be opened by it: from here on, an empty directory is one from which segments were removed.
    recovery::directory::mark_unbegun(&shared.env.disk, id).await?;
    let room = Room::new(SEGMENT_HEADER_BYTES as u64, TAIL_BYTES, ENTRY_HEADER_BYTES as u64);
    let queue = Arc::new(WalQueue::new(room));
    let session = Arc::new(Session::new(Arc::clone(shared), id, Wal::Local(Arc::clone(&queue))));
    let streams = Arc::new(Registry::default());
    // Unbounded in number, bounded in bytes: what lies in it counts as uncommitted until it is committed.
    let (sealed, to_finish) = mpsc::unbounded_channel();
    let (finished, to_upload) = mpsc::unbounded_channel();
    let tasks = &shared.env.tasks;
    let workers = vec![
        tasks.spawn_thread(
            "kelda-wal",
            Box::pin(writer::run(Arc::clone(&session), Arc::clone(&queue), sealed)),
        ),
        tasks.spawn_thread("kelda-wal-files", Box::pin(prepare::run(Arc::clone(&session), queue))),
        tasks.spawn_thread(
            "kelda-wal-finish",
            Box::pin(upload::finish::run(Arc::clone(&session), to_finish, finished)),
        ),
        tasks.spawn_thread(
            "kelda-upload",
            Box::pin(upload::run::run(Arc::clone(&session), Arc::clone(&streams), to_upload)),
        ),
    ];
    Ok(Running { session, streams, workers })
}

/// A log in the store needs no file and no thread: all its work is requests.
fn start_store(shared: &Arc<Shared>, id: SessionId) -> Running {
    let queue = Arc::new(SlotQueue::default());
    let session = Arc::new(Session::new(Arc::clone(shared), id, Wal::Store(Arc::clone(&queue))));
    let streams = Arc::new(Registry::default());
    // Unbounded in number, bounded in bytes: what lies in it counts as uncommitted until it is committed.
    let (ranges, to_upload) = mpsc::unbounded_channel();
    let env = &shared.env;
    let workers = vec![
        env.spawn("kelda-wal", store::writer::run(Arc::clone(&session), queue, ranges)),
        env.spawn("kelda-upload", upload::ranges::run(Arc::clone(&session), Arc::clone(&streams), to_upload)),
        env.spawn("kelda-wal-trim", store::trim::run(Arc::clone(&session))),
    ];
    Running { session, streams, workers }
}

/// As [`start_session`], after a session that ended: what may pass by itself is waited for, a failing disk or store
/// only for some tries.
pub(crate) async fn restart_session(shared: &Arc<Shared>) -> Result<Running, StartError> {
    let mut backoff = Backoff::new(&shared.config);
    let mut storage_failures = 0;
    loop {
        let error = match start_session(shared).await {
            Err(error @ (StartError::Meta(_) | StartError::DiskFull { .. })) => error,
            Err(error @ StartError::Storage(_)) if storage_failures < STORAGE_TRIES => {
                storage_failures += 1;
                error
            }
            result => return result,
        };
        tracing::warn!(%error, "no new session yet, trying again");
        shared.env.clock.sleep(backoff.next()).await;
    }
}

/// P2: the log assigns the next session epoch and fences the session before. That one is named as taken over, since
/// whoever starts an engine holds the lock of the data directory.
async fn register(shared: &Shared) -> Result<SessionId, StartError> {
    let node = shared.identity.node;
    let nonce = Nonce(shared.env.random.nonce());
    for _ in 0..REGISTER_TRIES {
        let takeover = shared.meta.view().live_session(node).map(|row| row.id);
        let command = RegisterNode {
            node,
            nonce,
            address: shared.identity.address.clone(),
            slots: shared.config.slots,
            features: FEATURES,
            wal: shared.config.wal,
            takeover,
            at: shared.now(),
        };
        match propose(shared, command).await {
            Ok(Outcome::Registered { session }) => return Ok(session),
            Ok(_) => {
                // A repeat of a try whose outcome was unknown.
                let view = shared.meta.view();
                if let Some(row) = view.node(node).filter(|row| row.nonce == nonce) {
                    return Ok(SessionId { node, epoch: row.session_epoch });
                }
            }
            Err(Failure::Rejected(Rejection::SessionLive { .. } | Rejection::Takeover { .. })) => {}
            Err(Failure::Rejected(Rejection::NotAlone { node: other })) => {
                return Err(StartError::NotAlone { other });
            }
            Err(Failure::Rejected(rejection)) => return Err(StartError::Meta(rejection.to_string())),
            Err(Failure::Unavailable(why) | Failure::Unknown(why)) => return Err(StartError::Meta(why)),
        }
    }
    Err(StartError::Meta(format!("node {node} is registered by somebody else again and again")))
}

/// P9: proposes the clean close of a session that holds nothing and has everything committed, then removes its WAL.
pub(crate) async fn close_session(session: &Session) -> Result<(), ShutdownError> {
    let shared = &session.shared;
    let wal_start = shared.meta.view().session(session.id).map_or(0, |row| row.wal_start);
    match propose(shared, CloseSession { session: session.id, wal_start }).await {
        Ok(_) => {}
        Err(Failure::Rejected(rejection)) => return Err(ShutdownError(rejection.to_string())),
        Err(Failure::Unavailable(why) | Failure::Unknown(why)) => return Err(ShutdownError(why)),
    }
    match session.wal {
        Wal::Local(_) => {
            if let Err(error) = recovery::directory::remove(shared, session.id).await {
                tracing::warn!(%error, "the WAL directory of the closed session could not be removed");
            }
        }
        Wal::Store(_) => store::trim::finish(session).await,
    }
    Ok(())
}
