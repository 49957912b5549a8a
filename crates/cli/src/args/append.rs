//! What `kelda append` takes.

use clap::{Args, ValueEnum};

use super::values;

/// Arguments of `kelda append`.
#[derive(Debug, Args)]
pub struct AppendArgs {
    /// The stream's name
    #[arg(value_parser = values::name)]
    pub name: String,
    /// Files to append in this order; `-` or none is standard input
    pub files: Vec<std::path::PathBuf>,
    /// What the input is
    #[arg(long, value_enum, default_value_t = InputFormat::Lines)]
    pub format: InputFormat,
    /// Make one record of each whole input, byte for byte
    #[arg(long, conflicts_with = "format")]
    pub whole: bool,
    /// Create the stream when it does not exist, with this MIME type; text/plain when none is given
    #[arg(long, value_name = "TYPE", num_args = 0..=1, require_equals = true, default_missing_value = "text/plain")]
    pub create: Option<String>,
    /// How long to try again while the server is not there, in seconds
    #[arg(long, default_value_t = 60, value_name = "SECONDS")]
    pub retry: u64,
}

/// How the input is cut into records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum InputFormat {
    /// A record a line, with its newline; into a stream of JSON a value a line, without it
    Lines,
    /// A JSON object a line, as `read --format json` prints them: headers, body or body_base64, producer_timestamp
    Json,
}
