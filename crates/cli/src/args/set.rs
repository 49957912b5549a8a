//! What `kelda set` takes.

use clap::{ArgGroup, Args};
use kelda_client::Bound;

use super::values;

/// Arguments of `kelda set`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("limits").required(true).multiple(true).args(["max_age", "max_bytes", "segment_bytes"]))]
pub struct SetArgs {
    /// The stream's name
    #[arg(value_parser = values::name)]
    pub name: String,
    /// Keep records at least this long, such as 12h or 7d
    #[arg(long, value_name = "DURATION|none", value_parser = values::age_or_none)]
    pub max_age: Option<Bound<String>>,
    /// Keep at least this many bytes, such as 10GiB
    #[arg(long, value_name = "BYTES|none", value_parser = values::bytes_or_none)]
    pub max_bytes: Option<Bound<u64>>,
    /// Size of the units in which old records are removed, such as 64MiB
    #[arg(long, value_name = "BYTES|none", value_parser = values::bytes_or_none)]
    pub segment_bytes: Option<Bound<u64>>,
}
