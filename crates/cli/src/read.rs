//! `kelda read` and `kelda tail`: owns the loop from the reader to standard output, guarantees that what was
//! printed was flushed before waiting for more, never prints a record twice.

use std::time::Duration;

use kelda_client::{Kelda, RangeReader, ReadOptions, Start};

use crate::args::{Edge, Format, ReadArgs, Reading, TailArgs};
use crate::clock;
use crate::exit::Failure;
use crate::output::Records;
use crate::progress::Progress;
use crate::range::{self, Range};
use crate::ui::Ui;

/// Progress is told after so many records, and whenever the server is asked for more.
const TELL_RECORDS: u64 = 1024;

pub async fn read(kelda: &Kelda, ui: Ui, args: ReadArgs) -> Result<(), Failure> {
    let start = args.tail.map_or(args.from, Start::Tail);
    let range = if ui.shows_progress() && !clock::stdout_is_terminal() {
        Some(range::plan(kelda, &args.name, args.reading.until.as_ref()).await?)
    } else {
        None
    };
    run(kelda, ui, &args.name, start, false, args.reading, range).await
}

pub async fn tail(kelda: &Kelda, ui: Ui, args: TailArgs) -> Result<(), Failure> {
    let start = args.from.unwrap_or(Start::Tail(args.lines));
    run(kelda, ui, &args.name, start, args.follow, args.reading, None).await
}

async fn run(
    kelda: &Kelda,
    ui: Ui,
    name: &str,
    start: Start,
    follow: bool,
    reading: Reading,
    range: Option<Range>,
) -> Result<(), Failure> {
    let format = format(ui, reading.format)?;
    let patience = Duration::from_secs(reading.retry);
    let (count, until) = (reading.count, reading.until.map(|edge| until(edge, clock::now_ms())));
    let mut reader = RangeReader::new(kelda, name, ReadOptions { start, until, count, follow, patience });
    let mut output = Records::new(format);
    let (mut progress, mut untold, mut untold_bytes) = (None, 0, 0);
    loop {
        if !reader.has_buffered() || untold == TELL_RECORDS {
            output.flush()?;
            progress.as_ref().inspect(|progress: &&Progress| progress.records(untold, untold_bytes));
            (untold, untold_bytes) = (0, 0);
        }
        match reader.next().await.map_err(|error| Failure::about(name, error))? {
            Some(record) => {
                if progress.is_none()
                    && let Some(range) = &range
                {
                    progress = Some(Progress::of_records(range.large(record.offset.0, count)));
                }
                untold += 1;
                untold_bytes += record.record.body.len() as u64;
                output.print(&record)?;
            }
            None => return output.flush(),
        }
    }
}

/// How to print: `--json` asks for JSON, and nothing else goes with it.
fn format(ui: Ui, asked: Option<Format>) -> Result<Format, Failure> {
    match (ui.json, asked) {
        (true, None | Some(Format::Json)) => Ok(Format::Json),
        (true, Some(_)) => {
            Err(Failure::usage("--json prints JSON: leave out --format, or write --format json"))
        }
        (false, asked) => Ok(asked.unwrap_or(Format::Lines)),
    }
}

/// The end as the server takes it, which knows no durations here.
fn until(edge: Edge, now_ms: u64) -> String {
    match edge {
        Edge::Offset(offset) => offset.to_string(),
        Edge::Time(time) => time,
        Edge::Ago(_, ms) => clock::rfc3339(now_ms.saturating_sub(ms)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_some_time_ago_is_a_time() {
        assert_eq!(until(Edge::Ago("1h".to_owned(), 3_600_000), 3_601_500), "1970-01-01T00:00:01.5Z");
        assert_eq!(until(Edge::Ago("1h".to_owned(), 3_600_000), 5), "1970-01-01T00:00:00Z");
        assert_eq!(until(Edge::Offset(7), 0), "7");
    }

    #[test]
    fn json_and_another_format_contradict_each_other() {
        let ui = |json| Ui { json, quiet: false };
        assert_eq!(format(ui(true), None).ok(), Some(Format::Json));
        assert_eq!(format(ui(false), None).ok(), Some(Format::Lines));
        assert!(format(ui(true), Some(Format::Raw)).is_err());
    }
}
