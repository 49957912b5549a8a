//! Lists of streams: owns paging by name in byte order. Shows what is live; never opens a stream.

use kelda_format::StreamName;
use kelda_format::rows::EntryState;

use crate::caller::{Caller, Operation, authorise};
use crate::info::StreamInfo;
use crate::service::Service;
use crate::{Fact, Fault, Field, Problem};

/// The most streams that one page holds: an answer of that many infos stays below a few hundred KiB.
pub const MAX_LIST: usize = 1000;

/// What to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListRequest {
    /// Only names that begin with this text.
    pub prefix: String,
    /// Only names after this text, in byte order.
    pub start_after: Option<String>,
    /// At most so many; [`MAX_LIST`] when absent.
    pub limit: Option<usize>,
}

/// One page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The streams, by name in byte order.
    pub streams: Vec<StreamInfo>,
    /// Where the next page starts (`start_after`); absent when this is the last.
    pub next: Option<StreamName>,
}

/// A page size that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("limit is {limit}: 1 to {MAX_LIST} is allowed")]
pub struct ListError {
    /// What was asked for.
    pub limit: usize,
}

impl Fault for ListError {
    fn problem(&self) -> Problem {
        Problem::InvalidParameter
    }

    fn fields(&self) -> Vec<Field> {
        vec![("parameter", Fact::Text("limit".to_owned()))]
    }
}

impl Service {
    /// Lists live streams that the caller may see.
    ///
    /// # Errors
    /// [`ListError`] when the page size is out of range.
    pub fn list(&self, caller: &Caller, request: &ListRequest) -> Result<Listing, ListError> {
        let limit = request.limit.unwrap_or(MAX_LIST);
        if !(1..=MAX_LIST).contains(&limit) {
            return Err(ListError { limit });
        }
        let inner = &self.inner;
        let view = inner.meta.view();
        let mut streams = Vec::new();
        let mut after = request.start_after.clone();
        loop {
            let page = view.list(&request.prefix, after.as_deref(), limit + 1 - streams.len());
            let live = page.entries.iter().filter(|e| e.state == EntryState::Live && !inner.is_expired(e));
            let allowed = live.filter(|e| authorise(caller, Operation::List, &e.name).is_ok());
            streams.extend(allowed.filter_map(|entry| inner.info(&view, entry)));
            after = page.entries.last().map(|last| last.name.to_string());
            if streams.len() > limit || !page.more {
                break;
            }
        }
        let more = streams.len() > limit;
        streams.truncate(limit);
        let next = streams.last().filter(|_| more).map(|last: &StreamInfo| last.name.clone());
        Ok(Listing { streams, next })
    }
}
