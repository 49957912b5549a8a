//! A projection that goes on where its last run stopped: `cargo run --example projection`.
//!
//! It keeps a file for each order, named by its number. The position is stored after orders were written, so a crash between
//! the two writes up to a hundred of them again, and the files come out the same. For a projection that must not see
//! an order twice, see `exactly_once.rs`.

use std::path::Path;
use std::time::Duration;

use kelda_client::{Error, FileCheckpoint, Kelda, Message, Reader, SaveEvery};
use serde::{Deserialize, Serialize};

/// What is read from the stream.
#[derive(Deserialize, Serialize)]
pub struct OrderPlaced {
    id: u64,
    total_cents: u64,
}

/// Starts to write the orders of the stream `orders` into `directory`, which is there.
pub async fn start(kelda: &Kelda, directory: &Path) -> Result<Reader, Error> {
    let orders = directory.to_owned();
    kelda
        .stream::<OrderPlaced>("orders")
        // Where the first run starts; later ones start behind the stored position.
        .from_first()
        .resume_with(FileCheckpoint::new(directory), "position")
        .save_every(SaveEvery::entries(100).or_time(Duration::from_secs(1)))
        .consume(move |message: Message<OrderPlaced>| {
            let file = orders.join(format!("order-{}.json", message.payload().id));
            async move { write(&file, message.payload()) }
        })
        .await
}

#[expect(clippy::disallowed_methods, reason = "the files are the example's own")]
fn write(file: &Path, order: &OrderPlaced) -> std::io::Result<()> {
    std::fs::write(file, serde_json::to_vec(order)?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let kelda = Kelda::connect("http://127.0.0.1:4437").await?;
    let reader = start(&kelda, Path::new(".")).await?;
    let mut state = reader.watch();
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        // A reader that stops by itself has a reason, which `stop` gives.
        _ = state.wait_for(|state| !state.is_active()) => {}
    }
    println!("written up to {:?}", reader.last_handled_offset());
    println!("{}", reader.stop().await);
    Ok(())
}
