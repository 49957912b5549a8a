//! What `kelda migrate` takes.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `kelda migrate`.
#[derive(Debug, Args)]
pub struct MigrateArgs {
    /// The data directory of the stopped node; what the node left is recovered first
    #[arg(long, env = "KELDA_DATA_DIR", default_value = "./kelda-data", value_name = "DIR")]
    pub data_dir: PathBuf,
    /// The object store that it uses, as for kelda serve; in the data directory when it is not given
    #[arg(long, value_name = "URL")]
    pub store: Option<String>,
    /// The object store that it is to use
    #[arg(long, value_name = "URL")]
    pub to: String,
}
