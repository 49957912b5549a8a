//! What verbs take that do one thing to one stream.

use clap::Args;

/// Arguments of verbs that take one stream.
#[derive(Debug, Args)]
pub struct NameArgs {
    /// The stream's name
    pub name: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
