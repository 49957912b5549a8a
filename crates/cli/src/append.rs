//! `kelda append`: owns the sending, guarantees that every record is stored once and in order and that a failure says
//! how much was stored before it, never holds more than a bounded part of the input.

mod batches;
mod input;

use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::FuturesOrdered;
use kelda_client::{Appended, Binary, Error, Kelda, Producer, StreamLimits};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::args::{AppendArgs, InputFormat};
use crate::exit::Failure;
use crate::progress::Progress;
use crate::ui::Ui;
use crate::{output, stream};
use batches::{Counts, Piece, Shape};
use input::Input;

/// Batches that were read and not yet sent. Some are sent, one is being built and one waits.
const WAITING_BATCHES: usize = 1;
/// Batches that are sent and not acknowledged: as many as a producer has under way. With more, what comes through a pipe would
/// be cut into smaller ones than it has to be.
const SENT_BATCHES: usize = 4;

/// What was stored so far.
#[derive(Default)]
struct Stored {
    records: u64,
    bytes: u64,
    first_offset: Option<u64>,
    next_offset: Option<u64>,
}

pub async fn run(kelda: &Kelda, ui: Ui, args: AppendArgs) -> Result<(), Failure> {
    // Every file is opened before anything is stored, so that a wrong name stores nothing.
    let inputs = Input::open_all(&args.files)?;
    let producer = open(kelda, ui, &args).await?;
    let shape = match (args.whole, args.format) {
        (true, _) => Shape::Whole,
        (false, InputFormat::Json) => Shape::Records,
        (false, InputFormat::Lines) => Shape::Lines,
    };
    let json = is_json(producer.content_type());
    let total = inputs.iter().map(Input::len).sum::<Option<u64>>();
    let progress = Progress::of_bytes(total.filter(|_| ui.shows_progress()));
    let (sender, mut batches) = mpsc::channel(WAITING_BATCHES);
    let reading = read_on_a_thread(move || batches::read(inputs, shape, json, &sender));
    let mut stored = Stored::default();
    let sent = send(&producer, &mut batches, &mut stored, &progress).await;
    sent.map_err(|error| stored.before(Failure::about(&args.name, error)))?;
    drop(progress);
    let read = reading.await.map_err(|error| Failure::local(error.to_string()));
    read.flatten().map_err(|failure| stored.before(failure))?;
    stored.report(ui, &args.name)
}

#[expect(clippy::disallowed_methods, reason = "a blocking thread reads the input")]
fn read_on_a_thread<T: Send + 'static>(
    read: impl FnOnce() -> T + Send + 'static,
) -> tokio::task::JoinHandle<T> {
    tokio::task::spawn_blocking(read)
}

/// Sends all batches, and counts them as they are acknowledged, which is in their order.
async fn send(
    producer: &Producer<Bytes, Binary>,
    batches: &mut mpsc::Receiver<Piece>,
    stored: &mut Stored,
    progress: &Progress,
) -> Result<(), Error> {
    let mut sent = FuturesOrdered::new();
    let (mut more, mut refusal) = (true, Ok(()));
    while more || !sent.is_empty() {
        tokio::select! {
            biased;
            Some((counts, told)) = sent.next() => {
                stored.add(counts, &told?);
                progress.bytes(counts.input_bytes);
            }
            piece = batches.recv(), if more && sent.len() < SENT_BATCHES => match piece {
                None => more = false,
                Some(Piece { batch, counts }) => match producer.send_batch(batch).await {
                    Ok(under_way) => sent.push_back(async move { (counts, under_way.await) }),
                    // What was acknowledged before is still to be counted.
                    Err(error) => (more, refusal) = (false, Err(error)),
                },
            },
        }
    }
    refusal
}

/// A producer of the stream, which is created when that was asked for.
async fn open(kelda: &Kelda, ui: Ui, args: &AppendArgs) -> Result<Producer<Bytes, Binary>, Failure> {
    let name = &args.name;
    let producer = || kelda.producer::<Bytes>(name).codec(Binary).open();
    let error = match producer().await {
        Ok(producer) => return Ok(producer),
        Err(error) => error,
    };
    let missing = matches!(&error, Error::Problem(problem) if problem.status == 404);
    match &args.create {
        Some(content_type) if missing => {
            let limits = StreamLimits::new().content_type(content_type);
            let head = kelda.declare_stream(name, limits).await?;
            if head.created && stream::is_unlimited(&stream::object(&head)) {
                ui.warn_unlimited(name);
            }
            producer().await.map_err(|error| Failure::about(name, error))
        }
        _ => {
            let failure = Failure::about(name, error);
            let how = format!("create it first (kelda create {}), or pass --create", crate::ui::quoted(name));
            Err(if missing { failure.with(&how, &[]) } else { failure })
        }
    }
}

/// Whether a stream of this type takes JSON values only.
fn is_json(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/json")
}

impl Stored {
    fn add(&mut self, counts: Counts, appended: &Appended) {
        self.records += counts.records;
        self.bytes += counts.body_bytes;
        if self.next_offset.is_none() {
            self.first_offset = appended.first_offset;
        }
        self.next_offset = Some(appended.next_offset);
    }

    /// The failure, and what was stored before it.
    fn before(&self, failure: Failure) -> Failure {
        let next_offset = self.next_offset.map(output::offset);
        let said = match self.next_offset {
            Some(next) => {
                let were = if self.records == 1 { "was" } else { "were" };
                let records = output::records(self.records);
                format!("{records} before it {were} stored, next offset {next}")
            }
            None => "nothing was stored before it".to_owned(),
        };
        failure.with(
            &said,
            &[("stored_records", json!(self.records)), ("stored_next_offset", json!(next_offset))],
        )
    }

    fn report(&self, ui: Ui, name: &str) -> Result<(), Failure> {
        let until = self.next_offset.map(|next| format!(", next offset {next}")).unwrap_or_default();
        let bytes = if self.bytes == 1 { "1 byte".to_owned() } else { format!("{} bytes", self.bytes) };
        ui.done(format_args!("{name}: {}, {bytes} appended{until}", output::records(self.records)));
        if !ui.json {
            return Ok(());
        }
        let offset = |offset: Option<u64>| offset.map_or(Value::Null, |offset| json!(output::offset(offset)));
        output::line(&json!({
            "stream": name,
            "records": self.records,
            "bytes": self.bytes,
            "first_offset": offset(self.first_offset),
            "next_offset": offset(self.next_offset),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_with_parameters_is_json_and_its_relatives_are_not() {
        for (content_type, json) in [
            ("application/json", true),
            ("Application/JSON; charset=utf-8", true),
            ("application/json-seq", false),
            ("text/plain", false),
        ] {
            assert_eq!(is_json(content_type), json, "{content_type}");
        }
    }
}
