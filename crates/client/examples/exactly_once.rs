//! A projection into SQLite that counts each order exactly once, whatever crashes: `cargo run --example exactly_once`.
//!
//! The position is in the same transaction as what is done with the entry, so either both are there or neither is.

use std::error::Error;
use std::path::Path;

use kelda_client::{Checkpoint, Kelda, Message, Position, StoreError, StreamId};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use serde::Deserialize;

/// What is read from the stream.
#[derive(Deserialize)]
pub struct OrderPlaced {
    total_cents: i64,
}

/// What all orders come to, and how far they are counted.
struct Revenue {
    database: Connection,
    /// The last order that is counted.
    last: Option<Position>,
}

impl Revenue {
    fn open(path: &Path) -> rusqlite::Result<Revenue> {
        let database = Connection::open(path)?;
        database.execute_batch(
            "CREATE TABLE IF NOT EXISTS revenue (id INTEGER PRIMARY KEY CHECK (id = 0), cents INTEGER NOT NULL);
             CREATE TABLE IF NOT EXISTS position (name TEXT PRIMARY KEY, stream_id INTEGER NOT NULL, last INTEGER NOT NULL);
             INSERT OR IGNORE INTO revenue VALUES (0, 0);",
        )?;
        let query = "SELECT stream_id, last FROM position WHERE name = 'revenue'";
        let last = database.query_row(query, [], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        let last = last.map(|(stream_id, offset)| Position { stream_id: StreamId(stream_id), offset });
        Ok(Revenue { database, last })
    }

    /// Counts an order and moves the position over it. When the position is not where this run left it, another run counts
    /// too, and nothing is changed.
    fn count(&mut self, order: &Message<OrderPlaced>) -> Result<(), Box<dyn Error>> {
        let (stream_id, offset) = (order.stream_id(), order.offset());
        let transaction = self.database.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute("UPDATE revenue SET cents = cents + ?1", [order.payload().total_cents])?;
        let moved = match self.last {
            None => {
                let insert = "INSERT OR IGNORE INTO position VALUES ('revenue', ?1, ?2)";
                transaction.execute(insert, params![stream_id.0, offset])?
            }
            Some(before) => transaction.execute(
                "UPDATE position SET last = ?1 WHERE name = 'revenue' AND stream_id = ?2 AND last = ?3",
                params![offset, stream_id.0, before.offset],
            )?,
        };
        if moved != 1 {
            return Err(format!("offset {offset} is counted by another run").into());
        }
        transaction.commit()?;
        self.last = Some(Position { stream_id, offset });
        Ok(())
    }
}

/// Where a run starts. There is nothing left to store: that is done when an order is counted.
struct Stored(Option<Position>);

impl Checkpoint for Stored {
    async fn load(&self, _: &str) -> Result<Option<Position>, StoreError> {
        Ok(self.0)
    }

    async fn save(&self, _: &str, _: Position) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Counts the orders of the stream `orders` into the database at `path`, until the stream is sealed.
pub async fn run(kelda: &Kelda, path: &Path) -> Result<(), Box<dyn Error>> {
    let mut revenue = Revenue::open(path)?;
    let orders = kelda.stream::<OrderPlaced>("orders").from_first();
    let mut orders = orders.resume_with(Stored(revenue.last), "revenue").messages().await?;
    while let Some(order) = orders.next().await {
        let order = order?;
        revenue.count(&order)?;
        order.done().await;
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let kelda = Kelda::connect("http://127.0.0.1:4437").await?;
    run(&kelda, Path::new("revenue.sqlite")).await
}
