//! What `kelda create` takes.

use clap::Args;

/// Arguments of `kelda create`.
#[derive(Debug, Args)]
pub struct CreateArgs {
    /// The stream's name, such as logs/api/prod
    pub name: String,
    /// MIME type of the records
    #[arg(long, value_name = "TYPE")]
    pub content_type: Option<String>,
    /// Delete the stream when it was neither read nor written for so many seconds
    #[arg(long, value_name = "SECONDS", conflicts_with = "expires_at")]
    pub ttl: Option<u64>,
    /// Delete the stream at this time (RFC 3339)
    #[arg(long, value_name = "TIME")]
    pub expires_at: Option<String>,
    /// Keep records at least this long, such as 12h or 7d
    #[arg(long, value_name = "DURATION")]
    pub max_age: Option<String>,
    /// Keep at least this many bytes
    #[arg(long, value_name = "BYTES")]
    pub max_bytes: Option<u64>,
    /// Size of the units in which old records are removed
    #[arg(long, value_name = "BYTES")]
    pub segment_bytes: Option<u64>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
