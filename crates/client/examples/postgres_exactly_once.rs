//! A projection into PostgreSQL that counts each order exactly once, whatever crashes:
//! `cargo run --example postgres_exactly_once`.
//!
//! The position is in the same transaction as what is done with the entry, so either both are there or neither is. And it is moved from
//! where this run left it only: PostgreSQL may still commit what a process asked for that is dead by now, when its next run
//! has begun already.

use std::error::Error;

use kelda_client::{Checkpoint, Kelda, Message, Position, StoreError, StreamId};
use serde::Deserialize;
use tokio_postgres::{Client, NoTls};

/// What is read from the stream.
#[derive(Deserialize)]
pub struct OrderPlaced {
    total_cents: i64,
}

/// What all orders come to, and how far they are counted.
struct Revenue {
    database: Client,
    /// The last order that is counted.
    last: Option<Position>,
}

impl Revenue {
    #[expect(
        clippy::disallowed_methods,
        reason = "the connection runs beside the client, as the driver wants it"
    )]
    async fn open(database: &str) -> Result<Revenue, Box<dyn Error>> {
        let (database, connection) = tokio_postgres::connect(database, NoTls).await?;
        // Its error is the one of whatever is asked of the client next.
        tokio::spawn(connection);
        database
            .batch_execute(
                "CREATE TABLE IF NOT EXISTS revenue (id INT PRIMARY KEY CHECK (id = 0), cents BIGINT NOT NULL);
                 CREATE TABLE IF NOT EXISTS position (name TEXT PRIMARY KEY, stream_id BIGINT NOT NULL, last BIGINT NOT NULL);
                 INSERT INTO revenue VALUES (0, 0) ON CONFLICT DO NOTHING;",
            )
            .await?;
        let query = "SELECT stream_id, last FROM position WHERE name = 'revenue'";
        let last = match database.query_opt(query, &[]).await? {
            None => None,
            Some(row) => {
                let (stream_id, offset) = (u64::try_from(row.get::<_, i64>(0))?, row.get::<_, i64>(1));
                Some(Position { stream_id: StreamId(stream_id), offset: u64::try_from(offset)? })
            }
        };
        Ok(Revenue { database, last })
    }

    /// Counts an order and moves the position over it. When the position is not where this run left it, another run counts
    /// too, and nothing is changed.
    async fn count(&mut self, order: &Message<OrderPlaced>) -> Result<(), Box<dyn Error>> {
        let (stream_id, offset) = (i64::try_from(order.stream_id().0)?, i64::try_from(order.offset())?);
        let transaction = self.database.transaction().await?;
        let add = "UPDATE revenue SET cents = cents + $1";
        transaction.execute(add, &[&order.payload().total_cents]).await?;
        let moved = match self.last {
            None => {
                let insert = "INSERT INTO position VALUES ('revenue', $1, $2) ON CONFLICT DO NOTHING";
                transaction.execute(insert, &[&stream_id, &offset]).await?
            }
            Some(before) => {
                let update =
                    "UPDATE position SET last = $1 WHERE name = 'revenue' AND stream_id = $2 AND last = $3";
                transaction.execute(update, &[&offset, &stream_id, &i64::try_from(before.offset)?]).await?
            }
        };
        if moved != 1 {
            return Err(format!("offset {offset} is counted by another run").into());
        }
        transaction.commit().await?;
        self.last = Some(Position { stream_id: order.stream_id(), offset: order.offset() });
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

/// Counts the orders of the stream `orders` into this database, until the stream is sealed.
pub async fn run(kelda: &Kelda, database: &str) -> Result<(), Box<dyn Error>> {
    let mut revenue = Revenue::open(database).await?;
    let orders = kelda.stream::<OrderPlaced>("orders").from_first();
    let mut orders = orders.resume_with(Stored(revenue.last), "revenue").messages().await?;
    while let Some(order) = orders.next().await {
        let order = order?;
        revenue.count(&order).await?;
        order.done().await;
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let kelda = Kelda::connect("http://127.0.0.1:4437").await?;
    run(&kelda, "host=127.0.0.1 user=billing dbname=billing").await
}
