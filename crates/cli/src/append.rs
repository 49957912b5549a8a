//! `kelda append`: owns the sending, guarantees that every record is stored once and in order and that a failure says
//! how much was stored before it, never holds more than a bounded part of the input.

mod batches;
mod input;

use std::time::Duration;

use kelda_client::{Appended, Appender, CreateOptions, Kelda};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::args::{AppendArgs, InputFormat};
use crate::exit::Failure;
use crate::progress::Progress;
use crate::ui::Ui;
use crate::{clock, output, stream};
use batches::{Batch, Shape};
use input::Input;

/// Batches that were read and not yet sent. One is sent, one is being built and one waits.
const WAITING_BATCHES: usize = 1;

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
    let content_type = prepare(kelda, ui, &args).await?;
    let shape = match (args.whole, args.format) {
        (true, _) => Shape::Whole,
        (false, InputFormat::Json) => Shape::Records,
        (false, InputFormat::Lines) => Shape::Lines,
    };
    let json = is_json(&content_type);
    let total = inputs.iter().map(Input::len).sum::<Option<u64>>();
    let progress = Progress::of_bytes(total.filter(|_| ui.shows_progress()));
    let (sender, mut batches) = mpsc::channel(WAITING_BATCHES);
    let reading = read_on_a_thread(move || batches::read(inputs, shape, json, &sender));
    let patience = Duration::from_secs(args.retry);
    let mut appender = Appender::new(kelda, &args.name, clock::producer_id(), patience);
    let mut stored = Stored::default();
    while let Some(batch) = batches.recv().await {
        match appender.append(batch.encoded.clone()).await {
            Ok(appended) => stored.add(&batch, &appended),
            Err(error) => return Err(stored.before(Failure::about(&args.name, error))),
        }
        progress.bytes(batch.input_bytes);
    }
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

/// Makes sure that the stream is there, and says what it holds.
async fn prepare(kelda: &Kelda, ui: Ui, args: &AppendArgs) -> Result<String, Failure> {
    let name = &args.name;
    match kelda.head(name).await {
        Ok(head) => Ok(head.content_type),
        Err(kelda_client::Error::Problem(problem)) if problem.status == 404 && args.create.is_some() => {
            let options = CreateOptions { content_type: args.create.clone(), ..CreateOptions::default() };
            let (new, head) = kelda.create(name, &options).await?;
            if new && stream::is_unlimited(&stream::object(&head)) {
                ui.warn_unlimited(name);
            }
            Ok(head.content_type)
        }
        Err(error) => {
            let missing = matches!(&error, kelda_client::Error::Problem(problem) if problem.status == 404);
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
    fn add(&mut self, batch: &Batch, appended: &Appended) {
        self.records += batch.records;
        self.bytes += batch.body_bytes;
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
