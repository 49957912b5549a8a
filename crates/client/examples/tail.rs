//! Prints what is written from now on, until ctrl-c: `cargo run --example tail`.

use kelda_client::{Kelda, Message, Text};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let kelda = Kelda::connect("http://127.0.0.1:4437").await?;
    let print = |message: Message<String>| async move {
        println!("{:>8}  {}", message.offset(), message.payload());
    };
    let reader = kelda.stream::<String>("orders").codec(Text).from_next().consume(print).await?;
    tokio::signal::ctrl_c().await?;
    // Waits for the handler at work.
    println!("{}", reader.stop().await);
    Ok(())
}
