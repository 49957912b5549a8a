//! A projection into SQLite that counts each order exactly once, whatever crashes: `cargo run --example exactly_once`.
//!
//! The position is in the same transaction as what is done with the entry, so either both are there or neither is.

use kelda_client::{Kelda, Position, StartAt, StreamId};
use rusqlite::{Connection, OptionalExtension, params};
use serde::Deserialize;

#[derive(Deserialize)]
struct OrderPlaced {
    total_cents: i64,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let kelda = Kelda::connect("http://127.0.0.1:4437").await?;
    let mut database = Connection::open("revenue.sqlite")?;
    database.execute_batch(
        "CREATE TABLE IF NOT EXISTS revenue (id INTEGER PRIMARY KEY CHECK (id = 0), cents INTEGER NOT NULL);
         CREATE TABLE IF NOT EXISTS position (name TEXT PRIMARY KEY, stream_id INTEGER NOT NULL, next INTEGER NOT NULL);
         INSERT OR IGNORE INTO revenue VALUES (0, 0);",
    )?;
    let start = match load(&database, "revenue")? {
        Some(position) => {
            let head = kelda.head("orders").await?;
            if head.stream_id != position.stream_id.to_string() {
                return Err("the stream was deleted and created anew: its offsets begin again".into());
            }
            StartAt::Offset(position.offset + 1)
        }
        None => StartAt::First,
    };
    let mut messages = kelda.stream::<OrderPlaced>("orders").from(start).messages().await?;
    while let Some(message) = messages.next().await {
        let message = message?;
        let transaction = database.transaction()?;
        transaction.execute("UPDATE revenue SET cents = cents + ?1", [message.payload().total_cents])?;
        transaction.execute(
            "INSERT OR REPLACE INTO position VALUES ('revenue', ?1, ?2)",
            params![message.stream_id().0, message.offset()],
        )?;
        transaction.commit()?;
        message.done().await;
    }
    Ok(())
}

fn load(database: &Connection, name: &str) -> rusqlite::Result<Option<Position>> {
    let query = "SELECT stream_id, next FROM position WHERE name = ?1";
    let row = database.query_row(query, [name], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    Ok(row.map(|(stream_id, offset)| Position { stream_id: StreamId(stream_id), offset }))
}
