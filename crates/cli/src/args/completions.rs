//! What `kelda completions` takes.

use clap::Args;
use clap_complete::Shell;

/// Arguments of `kelda completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell that is to complete
    #[arg(value_enum)]
    pub shell: Shell,
}
