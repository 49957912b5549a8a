//! From a name to its stream: owns the one place that decides whether a name stands for something a caller
//! may use. Reads the published view only; never opens a stream, never remembers a name that does not exist.

use kelda_format::rows::{EntryRow, EntryState};
use kelda_format::{StreamId, StreamName};
use kelda_meta::State;

use crate::caller::{Caller, Denied, Operation, authorise};
use crate::service::Inner;
use crate::{Fact, Fault, Field, Problem};

/// Why a name gave no stream.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    /// The caller may not.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// No stream has this name, or it has expired.
    #[error("no stream is named {name}")]
    NotFound {
        /// The name.
        name: StreamName,
    },
    /// The stream was deleted while forks of it live, so that its name is not free.
    #[error("the stream {name} was deleted and forks of it live")]
    Gone {
        /// The name.
        name: StreamName,
    },
    /// The name stands for another stream than the caller asked for.
    #[error("{name} is stream {current} now, not {asked}")]
    OtherStream {
        /// The name.
        name: StreamName,
        /// The stream id that was asked for.
        asked: StreamId,
        /// The stream id that the name has.
        current: StreamId,
    },
}

impl Fault for LookupError {
    fn problem(&self) -> Problem {
        match self {
            LookupError::Denied(denied) => denied.problem(),
            LookupError::NotFound { .. } => Problem::NotFound,
            LookupError::Gone { .. } => Problem::Gone,
            LookupError::OtherStream { .. } => Problem::StreamIdMismatch,
        }
    }

    fn fields(&self) -> Vec<Field> {
        match self {
            LookupError::OtherStream { current, .. } => vec![("stream_id", Fact::Stream(*current))],
            _ => Vec::new(),
        }
    }
}

impl Inner {
    /// The live entry of a name, after asking whether the caller may use it.
    pub(crate) fn find<'v>(
        &self,
        view: &'v State,
        (caller, operation): (&Caller, Operation),
        name: &StreamName,
        if_stream: Option<StreamId>,
    ) -> Result<&'v EntryRow, LookupError> {
        authorise(caller, operation, name)?;
        let not_found = || LookupError::NotFound { name: name.clone() };
        let entry = view.entry(name).ok_or_else(not_found)?;
        match entry.state {
            EntryState::Initialising => return Err(not_found()),
            EntryState::SoftDeleted => return Err(LookupError::Gone { name: name.clone() }),
            EntryState::Live if self.is_expired(entry) => return Err(not_found()),
            EntryState::Live => {}
        }
        match if_stream {
            Some(asked) if asked != entry.stream => {
                Err(LookupError::OtherStream { name: name.clone(), asked, current: entry.stream })
            }
            _ => Ok(entry),
        }
    }
}
