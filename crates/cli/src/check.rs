//! `kelda check`: owns its arguments and what its result means, guarantees the exit code, never reads the directory itself.

mod json;
mod lists;
mod text;

use std::path::PathBuf;

use clap::Args;

use crate::exit::Failure;
use crate::output;

/// Arguments of `kelda check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The data directory of the stopped node
    #[arg(long, env = "KELDA_DATA_DIR", default_value = "./kelda-data", value_name = "DIR")]
    pub data_dir: PathBuf,
    /// List every stream
    #[arg(long)]
    pub streams: bool,
    /// List everything: streams, segments of the write-ahead log, objects
    #[arg(short, long)]
    pub verbose: bool,
}

/// Checks a data directory and prints the report, as one JSON document or for people.
pub async fn run(as_json: bool, args: CheckArgs) -> Result<(), Failure> {
    let checked = kelda_server::check::check(&args.data_dir).await;
    let report = checked.map_err(|error| Failure::local(error.to_string()))?;
    if as_json {
        output::line(&json::report(&report))?;
    } else {
        output::text(text::summary(&report).trim_end())?;
        output::text(&lists::all(&report, args.streams || args.verbose, args.verbose))?;
        output::text(text::verdict(&report).trim_end())?;
    }
    let found = report.findings_total;
    let things = if found == 1 { "1 finding".to_owned() } else { format!("{found} findings") };
    if report.is_clean() {
        Ok(())
    } else if report.is_only_newer() {
        let dir = report.data_dir;
        Err(Failure::local(format!("{dir} was written by a newer version of Kelda: check it with that one")))
    } else {
        Err(Failure::damaged(format!("{} is damaged: {things}", report.data_dir)))
    }
}
