//! `kelda read`: owns the loop from the pages of a range to standard output, guarantees that what was printed was flushed
//! before waiting for more, never prints a record twice.

use std::time::Duration;

use kelda_client::{EndAt, Kelda, RangeReader, ReadOptions, StartAt, Timestamp};

use crate::args::{Edge, Format, ReadArgs, Reading};
use crate::clock;
use crate::exit::Failure;
use crate::output::Records;
use crate::progress::Progress;
use crate::range::{self, Range};
use crate::ui::Ui;

/// Progress is told after so many records, and whenever the server is asked for more.
const TELL_RECORDS: u64 = 1024;

pub async fn read(kelda: &Kelda, ui: Ui, args: ReadArgs) -> Result<(), Failure> {
    let start = args.tail.map_or(args.from, StartAt::Tail);
    let range = if ui.shows_progress() && !clock::stdout_is_terminal() {
        Some(range::plan(kelda, &args.name, args.reading.until.as_ref()).await?)
    } else {
        None
    };
    run(kelda, ui, &args.name, start, args.reading, range).await
}

async fn run(
    kelda: &Kelda,
    ui: Ui,
    name: &str,
    start: StartAt,
    reading: Reading,
    range: Option<Range>,
) -> Result<(), Failure> {
    let format = format(ui, reading.format)?;
    let patience = Duration::from_secs(reading.retry);
    let (count, until) = (reading.count, reading.until.map(|edge| until(edge, clock::now_ms())));
    // A range is copied page by page: nothing has to be marked as finished, and nothing is read past its end.
    let options = ReadOptions { start, until, count, follow: false, patience };
    let mut reader = RangeReader::new(kelda, name, options);
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
pub fn format(ui: Ui, asked: Option<Format>) -> Result<Format, Failure> {
    match (ui.json, asked) {
        (true, None | Some(Format::Json)) => Ok(Format::Json),
        (true, Some(_)) => {
            Err(Failure::usage("--json prints JSON: leave out --format, or write --format json"))
        }
        (false, asked) => Ok(asked.unwrap_or(Format::Lines)),
    }
}

/// The end as the server takes it, which knows no durations here.
pub fn until(edge: Edge, now_ms: u64) -> EndAt {
    match edge {
        Edge::Offset(offset) => EndAt::Offset(offset),
        Edge::Time(time) => EndAt::Time(time),
        Edge::Ago(back) => {
            let back = u64::try_from(back.as_millis()).unwrap_or(u64::MAX);
            EndAt::Time(Timestamp(now_ms.saturating_sub(back)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_some_time_ago_is_a_time() {
        let hour = || Edge::Ago(Duration::from_secs(3_600));
        assert_eq!(until(hour(), 3_601_500), EndAt::Time(Timestamp(1_500)));
        assert_eq!(until(hour(), 5), EndAt::Time(Timestamp(0)));
        assert_eq!(until(Edge::Offset(7), 0), EndAt::Offset(7));
    }

    #[test]
    fn json_and_another_format_contradict_each_other() {
        let ui = |json| Ui { json, quiet: false };
        assert_eq!(format(ui(true), None).ok(), Some(Format::Json));
        assert_eq!(format(ui(false), None).ok(), Some(Format::Lines));
        assert!(format(ui(true), Some(Format::Raw)).is_err());
    }
}
