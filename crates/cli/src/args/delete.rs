//! What `kelda delete` takes.

use clap::Args;

/// Arguments of `kelda delete`.
#[derive(Debug, Args)]
pub struct DeleteArgs {
    /// The streams' names
    #[arg(required = true)]
    pub names: Vec<String>,
}
