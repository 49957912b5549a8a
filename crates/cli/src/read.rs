//! `kelda read` and `kelda tail`: owns the loop from the reader to standard output, guarantees that what was
//! printed was flushed before waiting for more, never prints a record twice.

use std::time::Duration;

use kelda_client::{Kelda, ReadOptions, Reader, Start};

use crate::args::{ReadArgs, Reading, TailArgs};
use crate::exit::Failure;
use crate::output::Records;

pub async fn read(kelda: &Kelda, args: ReadArgs) -> Result<(), Failure> {
    let start = args.tail.map_or_else(|| position(&args.from), Start::Tail);
    run(kelda, &args.name, start, false, args.reading).await
}

pub async fn tail(kelda: &Kelda, args: TailArgs) -> Result<(), Failure> {
    let start = args.from.as_deref().map_or(Start::Tail(args.lines), position);
    run(kelda, &args.name, start, args.follow, args.reading).await
}

async fn run(kelda: &Kelda, name: &str, start: Start, follow: bool, reading: Reading) -> Result<(), Failure> {
    let patience = Duration::from_secs(reading.retry);
    let Reading { until, count, format, .. } = reading;
    let mut reader = Reader::new(kelda, name, ReadOptions { start, until, count, follow, patience });
    let mut output = Records::new(format);
    loop {
        if !reader.has_buffered() {
            output.flush()?;
        }
        match reader.next().await? {
            Some(record) => output.print(&record)?,
            None => return output.flush(),
        }
    }
}

/// A bare number is an offset, anything else is for the server to understand.
fn position(text: &str) -> Start {
    text.parse().map_or_else(|_| Start::From(text.to_owned()), Start::Offset)
}
