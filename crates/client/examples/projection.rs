//! A projection that goes on where its last run stopped: `cargo run --example projection`.
//!
//! The position is stored after an order was counted, so a crash between the two counts that order again. For a projection
//! that must not, see `exactly_once.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kelda_client::{FileCheckpoint, Kelda, Message, SaveEvery};
use serde::Deserialize;

#[derive(Deserialize)]
struct OrderPlaced {
    total_cents: u64,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let kelda = Kelda::connect("http://127.0.0.1:4437").await?;
    let revenue = Arc::new(AtomicU64::new(0));
    let sum = Arc::clone(&revenue);
    let reader = kelda
        .stream::<OrderPlaced>("orders")
        // Where the first run starts; later ones start behind the stored position.
        .from_first()
        .resume_with(FileCheckpoint::new("checkpoints"), "revenue")
        .save_every(SaveEvery::entries(100).or_time(Duration::from_secs(1)))
        .consume(move |message: Message<OrderPlaced>| {
            sum.fetch_add(message.payload().total_cents, Ordering::Relaxed);
            async {}
        })
        .await?;
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        // A reader that stops by itself has a reason that somebody should see.
        state = wait_for_end(&reader) => println!("{state}"),
    }
    println!("{} cents, up to {:?}", revenue.load(Ordering::Relaxed), reader.last_handled_offset());
    reader.stop().await;
    Ok(())
}

async fn wait_for_end(reader: &kelda_client::Reader) -> String {
    let mut state = reader.watch();
    let ended = state.wait_for(|state| !state.is_active()).await;
    ended.map_or_else(|_| "gone".to_owned(), |state| format!("{:?}", *state))
}
