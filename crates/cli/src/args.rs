//! What can be typed: owns the verbs, guarantees that `--help` explains each, never acts.
//! What a verb takes is in the file of its name.

mod append;
mod create;
mod delete;
mod ls;
mod name;
mod read;
mod reading;
mod tail;

use clap::{Args, Parser, Subcommand};

pub use append::AppendArgs;
pub use create::CreateArgs;
pub use delete::DeleteArgs;
pub use ls::LsArgs;
pub use name::NameArgs;
pub use read::ReadArgs;
pub use reading::{Format, Reading};
pub use tail::TailArgs;

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
configuration, sealed, a stale position), 5 the server is not there or has no room, \
6 data is damaged.";

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
    /// Measure a server, or the machine under it
    Bench(Box<crate::bench::args::BenchArgs>),
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
    /// Say what is in the data directory of a stopped node, and what of it is damaged
    Check(crate::check::CheckArgs),
}
