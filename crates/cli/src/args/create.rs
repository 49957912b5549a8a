//! What `kelda create` takes.

use clap::Args;

use super::values;

/// Arguments of `kelda create`.
#[derive(Debug, Args)]
pub struct CreateArgs {
    /// The stream's name, such as logs/api/prod
    #[arg(value_parser = values::name)]
    pub name: String,
    /// MIME type of the records; the server takes application/octet-stream when none is given
    #[arg(long, value_name = "TYPE")]
    pub content_type: Option<String>,
    /// Delete the stream when it was neither read nor written for so many seconds
    #[arg(long, value_name = "SECONDS", conflicts_with = "expires_at")]
    pub ttl: Option<u64>,
    /// Delete the stream at this time (RFC 3339)
    #[arg(long, value_name = "TIME", value_parser = values::rfc3339)]
    pub expires_at: Option<std::time::SystemTime>,
    /// Keep records at least this long, such as 12h or 7d
    #[arg(long, value_name = "DURATION", value_parser = values::age)]
    pub max_age: Option<String>,
    /// Keep at least this many bytes, such as 10GiB
    #[arg(long, value_name = "BYTES", value_parser = values::bytes)]
    pub max_bytes: Option<u64>,
    /// Size of the units in which old records are removed, such as 64MiB
    #[arg(long, value_name = "BYTES", value_parser = values::bytes)]
    pub segment_bytes: Option<u64>,
}
