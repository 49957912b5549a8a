//! What verbs take that do one thing to one stream.

use clap::Args;

use super::values;

/// Arguments of verbs that take one stream.
#[derive(Debug, Args)]
pub struct NameArgs {
    /// The stream's name
    #[arg(value_parser = values::name)]
    pub name: String,
}
