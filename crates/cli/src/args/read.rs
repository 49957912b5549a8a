//! What `kelda read` takes.

use clap::Args;
use kelda_client::StartAt;

use super::{Reading, values};

/// Arguments of `kelda read`.
#[derive(Debug, Args)]
pub struct ReadArgs {
    /// The stream's name
    #[arg(value_parser = values::name)]
    pub name: String,
    /// Where to start: first, last, next, an offset, a time (RFC 3339) or a duration back such as 1h
    #[arg(long, default_value = "first", value_name = "POSITION", value_parser = values::start)]
    pub from: StartAt,
    /// Start at the last N records
    #[arg(long, value_name = "N", conflicts_with = "from")]
    pub tail: Option<u64>,
    #[command(flatten)]
    pub reading: Reading,
}
