//! What `kelda tail` takes.

use clap::Args;
use kelda_client::StartAt;

use super::{Reading, values};

/// Arguments of `kelda tail`.
#[derive(Debug, Args)]
pub struct TailArgs {
    /// The stream's name
    #[arg(value_parser = values::name)]
    pub name: String,
    /// Wait for new records, until Ctrl-C or the end of a sealed stream
    #[arg(short, long)]
    pub follow: bool,
    /// Start at the last N records
    #[arg(short = 'n', long = "lines", default_value_t = 10, value_name = "N")]
    pub lines: u64,
    /// Start here instead: first, last, next, an offset, a time (RFC 3339) or a duration back such as 1h
    #[arg(long, value_name = "POSITION", conflicts_with = "lines", value_parser = values::start)]
    pub from: Option<StartAt>,
    /// Store in this file how far was printed, and go on behind that the next time
    #[arg(long, value_name = "FILE")]
    pub checkpoint: Option<std::path::PathBuf>,
    /// How many records may be on their way or waiting to be printed
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub prefetch: u64,
    #[command(flatten)]
    pub reading: Reading,
}
