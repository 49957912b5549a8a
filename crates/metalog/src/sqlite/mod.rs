//! The backend on an SQLite file: owns the database and its one connection, guarantees that an answered append
//! survives a power cut (WAL mode, `synchronous=FULL`, both verified after opening) and that the truncation
//! bound is checked inside the inserting transaction (P23), never blocks an executor thread.
//!
//! It is for one machine: one process writes, others may look on. See `docs/formats.md` for the tables.

mod append;
mod error;
mod open;
mod read;
mod snapshot;
mod wal_file;

pub use wal_file::{WAL_HEADER_BYTES, WalFile};

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use kelda_env::Env;
use kelda_env::watch;
use parking_lot::Mutex;
use rusqlite::Connection;

use crate::store::{AppendError, LogError, LogStore, SnapshotPut};

/// How long a statement waits for a lock that another process holds.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// How often a waiter looks for entries that came from elsewhere; one process normally writes all of them, and
/// those it is told of at once.
const POLL: Duration = Duration::from_secs(1);

/// A metadata log in an SQLite database; clones are handles on the same connection.
#[derive(Clone)]
pub struct SqliteLog {
    env: Env,
    connection: Arc<Mutex<Session>>,
    head: Arc<watch::Sender<u64>>,
}

/// The connection, until a write to the medium failed.
#[derive(Debug)]
struct Session {
    connection: Connection,
    broken: Option<String>,
}

impl fmt::Debug for SqliteLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteLog").finish_non_exhaustive()
    }
}

impl SqliteLog {
    /// Opens the database at `path`, which is created if absent; its directory must exist.
    ///
    /// # Errors
    /// [`LogError::Newer`] for a layout that this version does not know, [`LogError::Damaged`] for a file that is
    /// not a metadata log or where durability could not be turned on, else [`LogError::Unavailable`].
    pub async fn open(env: &Env, path: impl AsRef<Path>) -> Result<Self, LogError> {
        let path = path.as_ref().to_owned();
        let connection = blocking(env, move || open::open(&path)).await??;
        let session = Session { connection, broken: None };
        Ok(Self {
            env: env.clone(),
            connection: Arc::new(Mutex::new(session)),
            head: Arc::new(watch::Sender::new(0)),
        })
    }

    /// Moves what is in SQLite's own log into the database and empties it, so that a later look at it ([`WalFile`]) finds
    /// only what this process wrote, and nothing that a crash left behind the last commit. A medium that is full or cannot
    /// be written keeps it as it is. For the one process that owns the database: others may find it locked meanwhile.
    ///
    /// # Errors
    /// The runtime went down.
    pub async fn empty_wal(&self) -> Result<(), LogError> {
        self.with(|session| {
            let _ = session.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        })
        .await
    }

    /// What SQLite finds wrong with the structure of the file; nothing when it is sound.
    ///
    /// # Errors
    /// As of the port; a page that cannot be read at all is such an error too.
    pub async fn faults(&self) -> Result<Vec<String>, LogError> {
        self.with(|session| read::faults(&session.connection)).await?
    }

    /// The version of the layout of the tables.
    #[must_use]
    pub fn layout() -> u32 {
        open::LAYOUT
    }

    async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Session) -> T + Send + 'static,
    ) -> Result<T, LogError> {
        let connection = Arc::clone(&self.connection);
        blocking(&self.env, move || work(&mut connection.lock())).await
    }
}

#[async_trait]
impl LogStore for SqliteLog {
    async fn append(&self, index: u64, entry: Bytes) -> Result<(), AppendError> {
        let done = self.with(move |session| append::append(session, index, &entry)).await;
        done.map_err(|error| AppendError::Unknown(error.to_string()))??;
        self.head.send_if_modified(|head| {
            let news = index > *head;
            *head = index.max(*head);
            news
        });
        Ok(())
    }

    async fn read(&self, from: u64, limit: usize) -> Result<Vec<(u64, Bytes)>, LogError> {
        self.with(move |session| read::read(session, from, limit)).await?
    }

    async fn latest_snapshot(&self) -> Result<Option<(u64, Bytes)>, LogError> {
        self.with(snapshot::latest).await?
    }

    async fn put_snapshot(&self, index: u64, state: Bytes) -> Result<SnapshotPut, LogError> {
        let name = snapshot::name(index, self.env.random.nonce());
        for (part, data) in snapshot::parts(&state).enumerate() {
            let name = name.clone();
            // One transaction per part, so that an append waits for one part at most.
            self.with(move |session| snapshot::store_part(session, &name, part, &data)).await??;
        }
        self.with(move |session| snapshot::finish(session, &name, index, state.len())).await?
    }

    async fn quarantine(&self, index: u64, reason: &str) -> Result<(), LogError> {
        let reason = reason.to_owned();
        self.with(move |session| snapshot::quarantine(session, index, &reason)).await?
    }

    async fn wait(&self, after: u64) {
        let mut head = self.head.subscribe();
        tokio::select! {
            biased;
            _ = head.wait_for(|head| *head > after) => {}
            () = self.env.clock.sleep(POLL) => {}
        }
    }
}

async fn blocking<T: Send + 'static>(
    env: &Env,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, LogError> {
    let done = env.blocking("metalog-sqlite", work).await;
    done.map_err(|error| LogError::Unavailable(format!("the task that talks to SQLite ended: {error}")))
}
