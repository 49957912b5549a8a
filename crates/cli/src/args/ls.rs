//! What `kelda ls` takes.

use clap::Args;

/// Arguments of `kelda ls`.
#[derive(Debug, Args)]
pub struct LsArgs {
    /// Only names that begin so
    #[arg(default_value = "", hide_default_value = true)]
    pub prefix: String,
    /// Show the type, the offsets and the time of creation too
    #[arg(short, long)]
    pub long: bool,
    /// Print nothing but the names, one a line
    #[arg(short = '1', long, conflicts_with_all = ["long", "json"])]
    pub names: bool,
}
