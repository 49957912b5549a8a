//! A checkpoint in PostgreSQL, for any number of readers: `cargo run --example postgres_checkpoint`.
//!
//! After a crash, entries that were handled and not yet stored are handed over again: one, when each is stored. For a
//! projection that lives in the same database, see `postgres_exactly_once.rs`.

use kelda_client::{Checkpoint, Kelda, Message, Position, StoreError, StreamId};
use tokio_postgres::{Client, NoTls};

/// Positions in a table. When the connection to the database is lost a save fails and the reader stops with
/// `ReaderEnd::Checkpoint`; whoever wants to go on connects anew and starts a reader.
pub struct PostgresCheckpoint(Client);

impl PostgresCheckpoint {
    /// Connects, for instance to `host=127.0.0.1 user=billing dbname=billing`, and makes the table when it is missing.
    #[expect(
        clippy::disallowed_methods,
        reason = "the connection runs beside the client, as the driver wants it"
    )]
    pub async fn open(database: &str) -> Result<PostgresCheckpoint, tokio_postgres::Error> {
        let (client, connection) = tokio_postgres::connect(database, NoTls).await?;
        // Its error is the one of whatever is asked of the client next.
        tokio::spawn(connection);
        client
            .batch_execute(
                "CREATE TABLE IF NOT EXISTS position (name TEXT PRIMARY KEY, stream_id BIGINT NOT NULL, last BIGINT NOT NULL)",
            )
            .await?;
        Ok(PostgresCheckpoint(client))
    }
}

impl Checkpoint for PostgresCheckpoint {
    async fn load(&self, name: &str) -> Result<Option<Position>, StoreError> {
        let query = "SELECT stream_id, last FROM position WHERE name = $1";
        let Some(row) = self.0.query_opt(query, &[&name]).await? else { return Ok(None) };
        let (stream_id, offset) =
            (u64::try_from(row.get::<_, i64>(0))?, u64::try_from(row.get::<_, i64>(1))?);
        Ok(Some(Position { stream_id: StreamId(stream_id), offset }))
    }

    async fn save(&self, name: &str, position: Position) -> Result<(), StoreError> {
        let (stream_id, offset) = (i64::try_from(position.stream_id.0)?, i64::try_from(position.offset)?);
        let insert = "INSERT INTO position VALUES ($1, $2, $3)
             ON CONFLICT (name) DO UPDATE SET stream_id = excluded.stream_id, last = excluded.last";
        self.0.execute(insert, &[&name, &stream_id, &offset]).await?;
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let kelda = Kelda::connect("http://127.0.0.1:4437").await?;
    let checkpoint = PostgresCheckpoint::open("host=127.0.0.1 user=billing dbname=billing").await?;
    let reader = kelda
        .stream::<serde_json::Value>("orders")
        .from_first()
        .resume_with(checkpoint, "printer")
        .consume(|message: Message<serde_json::Value>| async move { println!("{}", message.payload()) })
        .await?;
    println!("{}", reader.join().await);
    Ok(())
}
