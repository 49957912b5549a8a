//! What `kelda restore` takes.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `kelda restore`.
#[derive(Debug, Args)]
pub struct RestoreArgs {
    /// The place of the backups
    #[arg(long, value_name = "URL")]
    pub from: String,
    /// Which of them; the newest when it is not given
    #[arg(long, value_name = "ID")]
    pub backup: Option<String>,
    /// The data directory to make: one that is not there, or holds nothing
    #[arg(long, env = "KELDA_DATA_DIR", default_value = "./kelda-data", value_name = "DIR")]
    pub data_dir: PathBuf,
    /// The object store to fill, as for kelda serve; in the data directory when it is not given
    #[arg(long, value_name = "URL")]
    pub store: Option<String>,
}
