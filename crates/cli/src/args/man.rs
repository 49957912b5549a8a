//! What `kelda man` takes.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `kelda man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// The verb to explain; none for kelda itself
    #[arg(conflicts_with_all = ["dir", "markdown"])]
    pub verb: Option<String>,
    /// Write the pages of kelda and of all verbs into this directory
    #[arg(long, value_name = "DIR", conflicts_with = "markdown")]
    pub dir: Option<PathBuf>,
    /// Print the reference of all verbs as Markdown
    #[arg(long)]
    pub markdown: bool,
}
