//! `kelda tail`: owns the loop from a reader to standard output, guarantees that a record is finished, and so its position
//! stored, only after it was flushed, and that what was printed was flushed before waiting for more. Never prints a record
//! twice in one run.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt as _;
use kelda_client::{Binary, Delivery, FileCheckpoint, Kelda, Messages, ReaderBuilder, SaveEvery, StartAt};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::args::TailArgs;
use crate::exit::Failure;
use crate::output::Records;
use crate::ui::Ui;
use crate::{clock, read};

/// The position is stored after so many records,
const SAVED_RECORDS: u64 = 1_000;
/// or after so long, whichever is first.
const SAVED_EVERY: Duration = Duration::from_secs(1);
/// This part of what may be on its way is printed before it is flushed and finished, so that the rest keeps coming.
const FLUSHED_PART: u64 = 4;

pub async fn tail(kelda: &Kelda, ui: Ui, args: TailArgs) -> Result<(), Failure> {
    let format = read::format(ui, args.reading.format)?;
    let start = args.from.unwrap_or(StartAt::Tail(args.lines));
    let mut builder = kelda.stream::<Bytes>(&args.name).codec(Binary).from(start).prefetch(args.prefetch);
    if let Some(edge) = args.reading.until {
        builder = builder.until(read::until(edge, clock::now_ms()));
    }
    if !args.follow {
        builder = builder.until_tail();
    }
    let mut interrupt = None;
    if let Some(file) = &args.checkpoint {
        // Listens before anything is printed, so that the position of what was printed is stored in any case.
        let listening = signal(SignalKind::interrupt());
        interrupt = Some(listening.map_err(|error| Failure::local(format!("Ctrl-C: {error}")))?);
        builder = resuming(builder, file, &args.name);
    }
    let opened = builder.messages().await;
    let mut messages = opened.map_err(|error| Failure::about(&args.name, error))?;
    let most = usize::try_from(args.prefetch.div_ceil(FLUSHED_PART)).unwrap_or(usize::MAX);
    let mut printing = Printing {
        name: &args.name,
        output: Records::new(format),
        unflushed: Vec::new(),
        most,
        left: args.reading.count,
    };
    let printed = printing.all(&mut messages, &mut interrupt).await;
    drop(printing);
    let end = messages.stop().await;
    printed?;
    if end.is_failure() {
        Err(Failure::from(kelda_client::Error::ReaderStopped(Box::new(end))))
    } else {
        Ok(())
    }
}

fn resuming(builder: ReaderBuilder<Bytes, Binary>, file: &Path, name: &str) -> ReaderBuilder<Bytes, Binary> {
    let every = SaveEvery::entries(SAVED_RECORDS).or_time(SAVED_EVERY);
    builder.resume_with(FileCheckpoint::of_file(file), name).save_every(every)
}

/// What is being printed.
struct Printing<'a> {
    name: &'a str,
    output: Records,
    /// Printed, and perhaps still in the buffer; dropped without being finished when the output fails.
    unflushed: Vec<Delivery<Bytes>>,
    most: usize,
    /// Records that are still to be printed, if that is bounded.
    left: Option<u64>,
}

impl Printing<'_> {
    /// Prints until there is an end.
    async fn all(
        &mut self,
        messages: &mut Messages<Bytes>,
        interrupt: &mut Option<Signal>,
    ) -> Result<(), Failure> {
        while self.left != Some(0) {
            if self.unflushed.len() >= self.most {
                self.flush().await?;
            }
            let next = match messages.next().now_or_never() {
                Some(next) => next,
                None => {
                    self.flush().await?;
                    tokio::select! {
                        next = messages.next() => next,
                        () = interrupted(interrupt) => return Err(Failure::Interrupted),
                    }
                }
            };
            let Some(next) = next else { break };
            let delivery = match next {
                Ok(delivery) => delivery,
                Err(error) => {
                    self.flush().await?;
                    return Err(Failure::about(self.name, error));
                }
            };
            self.output.print(delivery.message().record())?;
            self.unflushed.push(delivery);
            self.left = self.left.map(|left| left - 1);
        }
        self.flush().await
    }

    /// What was printed is out, and finished.
    async fn flush(&mut self) -> Result<(), Failure> {
        self.output.flush()?;
        for delivery in self.unflushed.drain(..) {
            delivery.done().await;
        }
        Ok(())
    }
}

/// Waits for Ctrl-C, or for ever.
async fn interrupted(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}
