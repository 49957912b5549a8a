//! What every verb that prints records takes.

use clap::{Args, ValueEnum};

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
