//! The backends under the contract: owns how a test reaches behind one, guarantees a log of its own to every
//! test, never used outside tests.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use kelda_env::Env;
use kelda_metalog::{LogStore, MemoryLog, SqliteLog};
use tempfile::TempDir;

#[async_trait]
pub trait Backend: Send + Sync {
    /// Another handle on the same log, as another process would have.
    async fn handle(&self) -> Arc<dyn LogStore>;
    /// Puts bytes into a slot behind the log's back.
    async fn plant(&self, index: u64, entry: &[u8]);
    /// Whether the bytes of the snapshot at `index` are still stored, and it is marked as quarantined.
    async fn in_quarantine(&self, index: u64) -> bool;
}

pub struct Memory(MemoryLog);

impl Memory {
    pub fn new() -> Self {
        Self(MemoryLog::new())
    }
}

#[async_trait]
impl Backend for Memory {
    async fn handle(&self) -> Arc<dyn LogStore> {
        Arc::new(self.0.handle())
    }

    async fn plant(&self, index: u64, entry: &[u8]) {
        self.0.plant(index, Bytes::copy_from_slice(entry));
    }

    async fn in_quarantine(&self, index: u64) -> bool {
        self.0.quarantined().iter().any(|(at, _)| *at == index)
    }
}

pub struct Sqlite {
    folder: TempDir,
    env: Env,
}

impl Sqlite {
    pub fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let env = Env::real(folder.path()).unwrap();
        Self { folder, env }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("meta.db")
    }

    pub async fn open(&self) -> Result<SqliteLog, kelda_metalog::LogError> {
        SqliteLog::open(&self.env, self.path()).await
    }
}

#[async_trait]
impl Backend for Sqlite {
    async fn handle(&self) -> Arc<dyn LogStore> {
        Arc::new(self.open().await.unwrap())
    }

    async fn plant(&self, index: u64, entry: &[u8]) {
        let connection = rusqlite::Connection::open(self.path()).unwrap();
        connection
            .execute(
                "INSERT OR REPLACE INTO log (idx, entry) VALUES (?1, ?2)",
                rusqlite::params![index, entry],
            )
            .unwrap();
    }

    async fn in_quarantine(&self, index: u64) -> bool {
        let connection = rusqlite::Connection::open(self.path()).unwrap();
        connection
            .query_row(
                "SELECT count(*) > 0 FROM quarantine JOIN snapshot_part USING (name) WHERE idx = ?1",
                [index],
                |row| row.get(0),
            )
            .unwrap()
    }
}
