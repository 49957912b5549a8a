//! What can be typed: owns the verbs, guarantees that `--help` explains each, never acts.
//! What a verb takes is in the file of its name.

mod append;
mod backup;
mod completions;
mod create;
mod delete;
mod global;
mod ls;
mod man;
mod migrate;
mod name;
mod read;
mod reading;
mod restore;
mod set;
mod tail;
mod trim;
mod values;

use std::time::Duration;

use clap::{Parser, Subcommand};

pub use append::{AppendArgs, InputFormat};
pub use backup::BackupArgs;
pub use completions::CompletionsArgs;
pub use create::CreateArgs;
pub use delete::DeleteArgs;
pub use global::Global;
pub use ls::LsArgs;
pub use man::ManArgs;
pub use migrate::MigrateArgs;
pub use name::NameArgs;
pub use read::ReadArgs;
pub use reading::{Format, Reading};
pub use restore::RestoreArgs;
pub use set::SetArgs;
pub use tail::TailArgs;
pub use trim::TrimArgs;
pub use values::Edge;

/// A durable stream server and its command line.
#[derive(Debug, Parser)]
#[command(name = "kelda", version, about, arg_required_else_help = true, after_help = EXIT_CODES)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub verb: Verb,
}

const EXIT_CODES: &str = "Exit codes:
  0    done
  1    failed
  2    wrong usage or input: an argument, the profile file, a line of the input
  3    no such stream
  4    conflict: another configuration, sealed, a position that is gone or not there yet
  5    the server is not there or has no room
  6    data is damaged (check, backup, restore, migrate)
  130  ended by Ctrl-C, as shells report it";

/// One command.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run a node
    Serve(Box<kelda_server::ServeArgs>),
    /// Measure a server, or the machine under it
    Bench(Box<crate::bench::args::BenchArgs>),
    /// Create a stream (no error when it exists with the same configuration)
    Create(CreateArgs),
    /// Append lines, whole files or JSON records, from standard input or files
    Append(AppendArgs),
    /// Read records and stop at the end
    Read(ReadArgs),
    /// Read the newest records, with -f wait for more
    Tail(TailArgs),
    /// Show what a stream is
    Head(NameArgs),
    /// List streams
    Ls(LsArgs),
    /// Give up the oldest records of a stream
    Trim(TrimArgs),
    /// Change the limits of a stream
    Set(SetArgs),
    /// Seal a stream: it takes no more records
    Seal(NameArgs),
    /// Delete streams; their names are free at once
    Delete(DeleteArgs),
    /// Say what is in the data directory of a stopped node, and what of it is damaged
    Check(crate::check::CheckArgs),
    /// Back up a running node, or a stopped one; list backups
    Backup(BackupArgs),
    /// Make a data directory, and fill a store, from a backup
    Restore(RestoreArgs),
    /// Move a stopped node to another object store
    Migrate(MigrateArgs),
    /// Show which server is used and why, and the profiles there are
    Profile,
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Print a man page, or write all of them
    Man(ManArgs),
}

impl Verb {
    /// How long it tries again while the server is not there, if it says so.
    pub fn patience(&self) -> Option<Duration> {
        let seconds = match self {
            Verb::Append(args) => args.retry,
            Verb::Read(args) => args.reading.retry,
            Verb::Tail(args) => args.reading.retry,
            _ => return None,
        };
        Some(Duration::from_secs(seconds))
    }
}
