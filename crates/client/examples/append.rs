//! Appends two events and prints where they are: `cargo run --example append`.

use kelda_client::{Kelda, Outgoing, StreamLimits, days};
use serde::Serialize;

#[derive(Serialize)]
struct OrderPlaced {
    id: u64,
    total_cents: u64,
}

#[tokio::main]
async fn main() -> Result<(), kelda_client::Error> {
    let kelda = Kelda::connect("http://127.0.0.1:4437").await?;
    let limits =
        StreamLimits::new().max_age(days(7)).max_bytes(10_000_000_000).content_type("application/json");
    kelda.declare_stream("orders", limits).await?;

    let producer = kelda.producer::<OrderPlaced>("orders").open().await?;
    // Sending waits for room only. What is awaited afterwards is the record's own result.
    let first = producer.send(&OrderPlaced { id: 1, total_cents: 1_250 }).await?;
    let order = OrderPlaced { id: 2, total_cents: 990 };
    let second = producer.send_message(Outgoing::new(&order).message_type("order-placed")).await?;
    println!("{:?}", first.await?);
    println!("{:?}", second.await?);
    producer.close().await
}
