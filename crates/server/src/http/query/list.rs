//! The query of a listing.
//!
//! Owns the parameters `prefix start_after limit`. Guarantees a bounded page. Never looks at a stream.

use super::{Parameters, QueryError, number};

/// Streams of a page when `limit` is not given.
pub const DEFAULT_LIMIT: u64 = MAX_LIMIT;
/// Most streams of a page: keeps a reply below a few hundred KiB.
pub const MAX_LIMIT: u64 = 1_000;

/// A listing, as asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListQuery {
    /// Only names that begin with this; empty means all.
    pub prefix: String,
    /// Only names after this one, in byte order.
    pub start_after: Option<String>,
    /// Most names of the page.
    pub limit: u64,
}

impl ListQuery {
    /// Types the parameters of a listing.
    ///
    /// # Errors
    /// The first parameter that is wrong.
    pub fn new(parameters: &Parameters) -> Result<ListQuery, QueryError> {
        Ok(ListQuery {
            prefix: parameters.text("prefix")?.unwrap_or_default().to_owned(),
            start_after: parameters.text("start_after")?.filter(|text| !text.is_empty()).map(str::to_owned),
            limit: parameters.parsed("limit", |text| number(text, 1, MAX_LIMIT))?.unwrap_or(DEFAULT_LIMIT),
        })
    }
}
