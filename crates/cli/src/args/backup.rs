//! What `kelda backup` takes.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `kelda backup`.
#[derive(Debug, Args)]
pub struct BackupArgs {
    /// The place of the backups: a store's URL such as s3://bucket/backups or file:///backups, used for nothing else
    #[arg(long, value_name = "URL")]
    pub to: String,
    /// The running node's admin listener; the node reads and writes the place itself
    #[arg(
        long,
        env = "KELDA_ADMIN",
        default_value = "http://127.0.0.1:9437",
        hide_env_values = true,
        value_name = "URL"
    )]
    pub admin: String,
    /// Back up this data directory of a stopped node instead; what the node left is recovered first
    #[arg(long, value_name = "DIR", conflicts_with = "list")]
    pub data_dir: Option<PathBuf>,
    /// The object store of that node, as for kelda serve; in the data directory when it is not given
    #[arg(long, value_name = "URL", requires = "data_dir")]
    pub store: Option<String>,
    /// List the backups that are there, and take none
    #[arg(long)]
    pub list: bool,
}
