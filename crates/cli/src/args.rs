//! What can be typed: owns the verbs and their flags, guarantees that `--help` explains each, never acts.

use clap::{Args, Parser, Subcommand, ValueEnum};

/// A durable stream server and its command line.
#[derive(Debug, Parser)]
#[command(name = "kelda", version, about, arg_required_else_help = true, after_help = EXIT_CODES)]
pub struct Cli {
    #[command(flatten)]
    pub endpoint: Endpoint,
    #[command(subcommand)]
    pub verb: Verb,
}

const EXIT_CODES: &str = "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 no such stream, 4 conflict (another \
configuration, sealed, a stale position), 5 the server is not there or has no room.";

/// Where the server is.
#[derive(Debug, Args)]
pub struct Endpoint {
    /// The server's address
    #[arg(
        long,
        global = true,
        env = "KELDA_ENDPOINT",
        default_value = "http://127.0.0.1:4437",
        value_name = "URL"
    )]
    pub endpoint: String,
}

/// One command.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run a node
    Serve(Box<kelda_server::ServeArgs>),
    /// Create a stream (no error when it exists with the same configuration)
    Create(CreateArgs),
    /// Append lines of standard input or of files
    Append(AppendArgs),
    /// Read records and stop at the end
    Read(ReadArgs),
    /// Read the newest records, with -f wait for more
    Tail(TailArgs),
    /// List streams
    Ls(LsArgs),
    /// Show what a stream is
    Head(NameArgs),
    /// Seal a stream: it takes no more records
    Seal(NameArgs),
    /// Delete streams; their names are free at once
    Delete(DeleteArgs),
}

/// Arguments of `kelda create`.
#[derive(Debug, Args)]
pub struct CreateArgs {
    /// The stream's name, such as logs/api/prod
    pub name: String,
    /// MIME type of the records
    #[arg(long, value_name = "TYPE")]
    pub content_type: Option<String>,
    /// Delete the stream when it was neither read nor written for so many seconds
    #[arg(long, value_name = "SECONDS", conflicts_with = "expires_at")]
    pub ttl: Option<u64>,
    /// Delete the stream at this time (RFC 3339)
    #[arg(long, value_name = "TIME")]
    pub expires_at: Option<String>,
    /// Keep records at least this long, such as 12h or 7d
    #[arg(long, value_name = "DURATION")]
    pub max_age: Option<String>,
    /// Keep at least this many bytes
    #[arg(long, value_name = "BYTES")]
    pub max_bytes: Option<u64>,
    /// Size of the units in which old records are removed
    #[arg(long, value_name = "BYTES")]
    pub segment_bytes: Option<u64>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

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

/// How records are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// The bodies, each ended by a newline unless it has one
    Lines,
    /// The bodies, byte for byte
    Raw,
    /// One JSON object a record: offset, timestamp, headers, body
    Json,
}

/// Arguments that say how to read.
#[derive(Debug, Args)]
pub struct Reading {
    /// Stop before this offset or time
    #[arg(long, value_name = "OFFSET|TIME")]
    pub until: Option<String>,
    /// Stop after so many records
    #[arg(long, value_name = "N")]
    pub count: Option<u64>,
    /// How to print records
    #[arg(long, value_enum, default_value_t = Format::Lines)]
    pub format: Format,
    /// How long to try again while the server is not there, in seconds
    #[arg(long, default_value_t = 60, value_name = "SECONDS")]
    pub retry: u64,
}

/// Arguments of `kelda read`.
#[derive(Debug, Args)]
pub struct ReadArgs {
    /// The stream's name
    pub name: String,
    /// Where to start: first, last, next, an offset, a time (RFC 3339) or a duration back such as 1h
    #[arg(long, default_value = "first", value_name = "POSITION")]
    pub from: String,
    /// Start at the last N records
    #[arg(long, value_name = "N", conflicts_with = "from")]
    pub tail: Option<u64>,
    #[command(flatten)]
    pub reading: Reading,
}

/// Arguments of `kelda tail`.
#[derive(Debug, Args)]
pub struct TailArgs {
    /// The stream's name
    pub name: String,
    /// Wait for new records
    #[arg(short, long)]
    pub follow: bool,
    /// Start at the last N records
    #[arg(short = 'n', long = "lines", default_value_t = 10, value_name = "N")]
    pub lines: u64,
    /// Start here instead: first, last, next, an offset, a time (RFC 3339) or a duration back such as 1h
    #[arg(long, value_name = "POSITION", conflicts_with = "lines")]
    pub from: Option<String>,
    #[command(flatten)]
    pub reading: Reading,
}

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

/// Arguments of verbs that take one stream.
#[derive(Debug, Args)]
pub struct NameArgs {
    /// The stream's name
    pub name: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `kelda delete`.
#[derive(Debug, Args)]
pub struct DeleteArgs {
    /// The streams' names
    #[arg(required = true)]
    pub names: Vec<String>,
}
