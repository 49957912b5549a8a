//! What `kelda ls` takes.

use clap::Args;

/// Arguments of `kelda ls`.
#[derive(Debug, Args)]
pub struct LsArgs {
    /// Only names that begin so
    #[arg(default_value = "")]
    pub prefix: String,
    /// Print one JSON object a stream
    #[arg(long)]
    pub json: bool,
}
