//! What `kelda delete` takes.

use clap::Args;

use super::values;

/// Arguments of `kelda delete`.
#[derive(Debug, Args)]
pub struct DeleteArgs {
    /// The streams' names; the first that cannot be deleted ends the command
    #[arg(required = true, value_parser = values::name)]
    pub names: Vec<String>,
}
