//! What `kelda trim` takes.

use clap::Args;

use super::values::{self, Edge};

/// Arguments of `kelda trim`.
#[derive(Debug, Args)]
pub struct TrimArgs {
    /// The stream's name
    #[arg(value_parser = values::name)]
    pub name: String,
    /// Keep this offset and what follows, or the records since this time (RFC 3339), or those of the last such as 7d
    #[arg(long, value_name = "POSITION", value_parser = values::edge)]
    pub before: Edge,
}
