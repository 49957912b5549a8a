//! Loads lines from standard input, with progress: `seq 1000000 | cargo run --example bulk_load`.

use std::io::{self, BufRead, Write};

use kelda_client::{Kelda, StreamLimits, Text};

/// Progress is shown after so many lines.
const SHOWN_EVERY: u64 = 10_000;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let kelda = Kelda::connect("http://127.0.0.1:4437").await?;
    let limits = StreamLimits::new().max_bytes(100_000_000_000).content_type("text/plain");
    kelda.declare_stream("lines", limits).await?;
    let producer = kelda.producer::<str>("lines").codec(Text).open().await?;
    let (mut lines, mut bytes) = (0, 0);
    for line in io::stdin().lock().lines() {
        let line = line?;
        // Waits while 32 MiB are not acknowledged, so that memory stays flat. A failure of any record before ends it.
        drop(producer.send(&line).await?);
        (lines, bytes) = (lines + 1, bytes + line.len());
        if lines % SHOWN_EVERY == 0 {
            eprint!("\r{lines} lines, {} MiB", bytes >> 20);
            io::stderr().flush()?;
        }
    }
    producer.close().await?;
    eprintln!("\r{lines} lines, {} MiB: all stored", bytes >> 20);
    Ok(())
}
