//! `kelda append`: owns the batching, guarantees that every record is stored once and in order, never holds
//! more than a bounded part of the input.

#![expect(
    clippy::disallowed_methods,
    reason = "a blocking thread reads the input; randomness makes the producer id"
)]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use kelda_client::{Appender, CreateOptions, Kelda, encode_bodies};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use crate::args::AppendArgs;
use crate::exit::Failure;
use crate::files::Input;
use crate::output;

/// A batch is sent when it has so many bytes, or when no more input is waiting.
const BATCH_BYTES: usize = 1024 * 1024;
/// And never holds more records than a server takes in one.
const BATCH_RECORDS: usize = 4096;
/// Input that was read and not yet acknowledged, in bytes.
const READ_AHEAD_BYTES: usize = 16 * BATCH_BYTES;
/// The same in records.
const READ_AHEAD_RECORDS: usize = 2 * BATCH_RECORDS;

struct Item {
    body: Vec<u8>,
    _permit: OwnedSemaphorePermit,
}

pub async fn run(kelda: &Kelda, args: AppendArgs) -> Result<(), Failure> {
    let content_type = prepare(kelda, &args).await?;
    let strip = content_type.starts_with("application/json") && !args.whole;
    let (sender, mut items) = mpsc::channel(READ_AHEAD_RECORDS);
    let (files, whole) = (args.files.clone(), args.whole);
    let reading = tokio::task::spawn_blocking(move || read_inputs(files, whole, strip, &sender));
    let mut appender = Appender::new(kelda, &args.name, producer_id(), Duration::from_secs(args.retry));
    let (mut appended, mut bytes, mut next_offset) = (0_u64, 0_u64, None);
    while let Some(first) = items.recv().await {
        let batch = collect(first, &mut items);
        let size: usize = batch.iter().map(|item| item.body.len()).sum();
        let encoded = encode_bodies(batch.iter().map(|item| item.body.as_slice()))?;
        next_offset = Some(appender.append(encoded).await?.next_offset);
        appended += batch.len() as u64;
        bytes += size as u64;
    }
    reading.await.map_err(|error| Failure::local(error.to_string()))??;
    output::appended(args.json, &args.name, appended, bytes, next_offset)
}

/// Makes sure that the stream is there, and says what it holds.
async fn prepare(kelda: &Kelda, args: &AppendArgs) -> Result<String, Failure> {
    match kelda.head(&args.name).await {
        Ok(head) => Ok(head.content_type),
        Err(kelda_client::Error::Problem(problem)) if problem.status == 404 && args.create.is_some() => {
            let options = CreateOptions { content_type: args.create.clone(), ..CreateOptions::default() };
            Ok(kelda.create(&args.name, &options).await?.1.content_type)
        }
        Err(kelda_client::Error::Problem(problem)) if problem.status == 404 => {
            let name = &args.name;
            let message =
                format!("no stream {name:?}; create it first (kelda create {name}) or pass --create");
            Err(Failure::not_found(message))
        }
        Err(error) => Err(error.into()),
    }
}

/// The records that are there already, up to a batch, without waiting for more.
fn collect(first: Item, items: &mut mpsc::Receiver<Item>) -> Vec<Item> {
    let mut size = first.body.len();
    let mut batch = vec![first];
    while size < BATCH_BYTES && batch.len() < BATCH_RECORDS {
        let Ok(item) = items.try_recv() else { break };
        size += item.body.len();
        batch.push(item);
    }
    batch
}

/// Reads all inputs on a thread of its own; ends early when the sending side gave up.
fn read_inputs(
    mut files: Vec<PathBuf>,
    whole: bool,
    strip: bool,
    sender: &mpsc::Sender<Item>,
) -> Result<(), Failure> {
    if files.is_empty() {
        files.push(PathBuf::from("-"));
    }
    let budget = Arc::new(Semaphore::new(READ_AHEAD_BYTES));
    let handle = tokio::runtime::Handle::current();
    for path in files {
        let mut input = Input::open(&path, whole)?;
        let mut record = Vec::new();
        while input.next(&mut record)? {
            let body = if strip { record.trim_ascii() } else { &record };
            if strip && body.is_empty() {
                continue;
            }
            let permits = body.len().clamp(1, READ_AHEAD_BYTES) as u32;
            let Ok(permit) = handle.block_on(Arc::clone(&budget).acquire_many_owned(permits)) else {
                return Ok(());
            };
            if sender.blocking_send(Item { body: body.to_vec(), _permit: permit }).is_err() {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// An id that no other run uses: the process and the time in nanoseconds.
fn producer_id() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    format!("kelda-cli-{}-{}", std::process::id(), since.as_nanos())
}
