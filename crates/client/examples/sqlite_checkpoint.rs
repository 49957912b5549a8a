//! A checkpoint in SQLite, for any number of readers: `cargo run --example sqlite_checkpoint`.
//!
//! After a crash, entries that were handled and not yet stored are handed over again: one, when each is stored. For a
//! projection that lives in the same database, see `exactly_once.rs`.

use std::path::Path;
use std::sync::Mutex;

use kelda_client::{Checkpoint, Kelda, Message, Position, StoreError, StreamId};
use rusqlite::{Connection, OptionalExtension, params};

/// Positions in a table. SQLite's calls block for as long as a disk takes to sync, which a reader of its own runtime can
/// afford; elsewhere hand them to a thread.
pub struct SqliteCheckpoint(Mutex<Connection>);

impl SqliteCheckpoint {
    /// Opens the database at `path` and makes the table when it is missing.
    pub fn open(path: &Path) -> rusqlite::Result<SqliteCheckpoint> {
        let database = Connection::open(path)?;
        database.execute_batch(
            "CREATE TABLE IF NOT EXISTS position (name TEXT PRIMARY KEY, stream_id INTEGER NOT NULL, last INTEGER NOT NULL)",
        )?;
        Ok(SqliteCheckpoint(Mutex::new(database)))
    }
}

impl Checkpoint for SqliteCheckpoint {
    async fn load(&self, name: &str) -> Result<Option<Position>, StoreError> {
        let database = self.0.lock().map_err(|_| "a thread panicked over the database")?;
        let query = "SELECT stream_id, last FROM position WHERE name = ?1";
        let row = database.query_row(query, [name], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        Ok(row.map(|(stream_id, offset)| Position { stream_id: StreamId(stream_id), offset }))
    }

    async fn save(&self, name: &str, position: Position) -> Result<(), StoreError> {
        let database = self.0.lock().map_err(|_| "a thread panicked over the database")?;
        let row = params![name, position.stream_id.0, position.offset];
        database.execute("INSERT OR REPLACE INTO position VALUES (?1, ?2, ?3)", row)?;
        Ok(())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let kelda = Kelda::connect("http://127.0.0.1:4437").await?;
    let reader = kelda
        .stream::<serde_json::Value>("orders")
        .from_first()
        .resume_with(SqliteCheckpoint::open(Path::new("positions.sqlite"))?, "printer")
        .consume(|message: Message<serde_json::Value>| async move { println!("{}", message.payload()) })
        .await?;
    println!("{}", reader.join().await);
    Ok(())
}
