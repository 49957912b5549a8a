//! What `kelda append` takes.

use clap::Args;

/// Arguments of `kelda append`.
#[derive(Debug, Args)]
pub struct AppendArgs {
    /// The stream's name
    pub name: String,
    /// Files to append in this order; `-` or none is standard input
    pub files: Vec<std::path::PathBuf>,
    /// Create the stream when it does not exist, with this MIME type
    #[arg(long, value_name = "TYPE", num_args = 0..=1, default_missing_value = "text/plain")]
    pub create: Option<String>,
    /// Make one record of each whole input instead of one of each line
    #[arg(long)]
    pub whole: bool,
    /// How long to try again while the server is not there, in seconds
    #[arg(long, default_value_t = 60, value_name = "SECONDS")]
    pub retry: u64,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
