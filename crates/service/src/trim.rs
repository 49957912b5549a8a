//! Trim: moves the start of a stream up. A held stream is trimmed by its owner (P5).

use kelda_engine::EndError;
use kelda_format::{Offset, StreamId, StreamName};

use crate::caller::{Caller, Operation};
use crate::head::HeadError;
use crate::info::StreamInfo;
use crate::lookup::LookupError;
use crate::service::Service;
use crate::{Fact, Fault, Field, NodeFault, Problem};

/// Why a stream was not trimmed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrimError {
    /// The name gave no stream.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// The offset lies behind the tail.
    #[error("cannot trim before {asked}: the tail is {tail}")]
    PastTail {
        /// The offset that was asked for.
        asked: Offset,
        /// The tail.
        tail: Offset,
    },
    /// The node cannot now.
    #[error(transparent)]
    Node(#[from] NodeFault),
}

impl From<HeadError> for TrimError {
    fn from(error: HeadError) -> TrimError {
        match error {
            HeadError::Lookup(error) => error.into(),
            HeadError::Node(error) => error.into(),
        }
    }
}

impl Fault for TrimError {
    fn problem(&self) -> Problem {
        match self {
            TrimError::Lookup(error) => error.problem(),
            TrimError::PastTail { .. } => Problem::OffsetPastTail,
            TrimError::Node(error) => error.problem(),
        }
    }

    fn fields(&self) -> Vec<Field> {
        match self {
            TrimError::Lookup(error) => error.fields(),
            TrimError::PastTail { tail, .. } => vec![("next_offset", Fact::Offset(*tail))],
            TrimError::Node(error) => error.fields(),
        }
    }
}

impl Service {
    /// Removes all records before an offset, which may be the tail; one at or below the start changes nothing.
    /// Returns what the stream is then.
    ///
    /// # Errors
    /// [`TrimError`].
    pub async fn trim(
        &self,
        caller: &Caller,
        name: &StreamName,
        before: Offset,
        if_stream: Option<StreamId>,
    ) -> Result<StreamInfo, TrimError> {
        let inner = &self.inner;
        let stream = {
            let view = inner.meta.view();
            inner.find(&view, (caller, Operation::Trim), name, if_stream)?.stream
        };
        match inner.engine.trim(stream, before).await {
            Ok(_) => Ok(self.head(caller, name, Some(stream))?),
            Err(EndError::PastTail { tail }) => Err(TrimError::PastTail { asked: before, tail }),
            Err(error) => Err(inner
                .end_fault(error)
                .map_or_else(|| LookupError::NotFound { name: name.clone() }.into(), TrimError::from)),
        }
    }
}
