//! What every verb that prints records takes.

use clap::{Args, ValueEnum};

use super::values::{self, Edge};

/// How records are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// The bodies, each ended by a newline unless it has one
    Lines,
    /// The bodies, byte for byte
    Raw,
    /// One JSON object a record: offset, timestamp, headers, body
    Json,
    /// For people: offset, local time and headers, then the body, JSON indented
    Pretty,
}

/// Arguments that say how to read.
#[derive(Debug, Args)]
pub struct Reading {
    /// Stop before this offset, this time (RFC 3339), or this long ago such as 10m
    #[arg(long, value_name = "POSITION", value_parser = values::edge)]
    pub until: Option<Edge>,
    /// Stop after so many records
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// How to print records: lines when nothing is given, json with --json
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// How long to try again while the server is not there, in seconds
    #[arg(long, default_value_t = 60, value_name = "SECONDS")]
    pub retry: u64,
}
