//! Two readers of one stream at different places: `cargo run --example fan_out`.
//!
//! Reading takes nothing away. The mailer sees new orders only; the index is built from all there ever were, eight at a
//! time.

use kelda_client::{Diagnostic, Kelda, Message};
use serde::Deserialize;

#[derive(Deserialize)]
struct OrderPlaced {
    id: u64,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let kelda = Kelda::connect("http://127.0.0.1:4437").await?;
    let mut diagnostics = kelda.diagnostics();
    let orders = || kelda.stream::<OrderPlaced>("orders");
    let mail =
        |message: Message<OrderPlaced>| async move { println!("mail for order {}", message.payload().id) };
    let index =
        |message: Message<OrderPlaced>| async move { println!("index order {}", message.payload().id) };
    let mailer = orders().from_next().consume(mail).await?;
    let indexer = orders().from_first().prefetch(1_000).concurrency(8).consume(index).await?;
    loop {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => break,
            Some(diagnostic) = diagnostics.next() => match diagnostic {
                Diagnostic::ReaderStopped { .. } => eprintln!("somebody has to look: {diagnostic}"),
                other => eprintln!("{other}"),
            },
        }
    }
    println!("mailer: {}", mailer.stop().await);
    println!("indexer: {}", indexer.stop().await);
    Ok(())
}
