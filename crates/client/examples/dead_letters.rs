//! Goes on past orders that cannot be handled, and looks at their copies: `cargo run --example dead_letters`.

use kelda_client::envelope::dead;
use kelda_client::{Kelda, Message, StreamLimits, Text, days};
use serde::Deserialize;

#[derive(Deserialize)]
struct OrderPlaced {
    id: u64,
}

async fn handle(message: Message<OrderPlaced>) -> Result<(), String> {
    if message.payload().id.is_multiple_of(13) { Err("thirteen brings no luck".to_owned()) } else { Ok(()) }
}

#[tokio::main]
async fn main() -> Result<(), kelda_client::Error> {
    let kelda = Kelda::connect("http://127.0.0.1:4437").await?;
    let reader = kelda
        .stream::<OrderPlaced>("orders")
        .from_first()
        .dead_letter("orders.dlq", StreamLimits::new().max_age(days(30)))
        .consume(handle)
        .await?;

    // The copies have the bytes and headers of the originals, and say where those are.
    let copies = kelda.stream::<String>("orders.dlq").codec(Text).from_first();
    let mut copies = copies.messages().await?;
    while let Some(copy) = copies.next().await {
        let copy = copy?;
        let (offset, reason) = (copy.header(dead::OFFSET), copy.header_text(dead::REASON));
        println!("offset {offset:?}: {}: {}", reason.unwrap_or_default(), copy.payload());
        println!("so far: {} handled, {} skipped", reader.handled(), reader.skipped());
        copy.done().await;
    }
    Ok(())
}
