//! Read and wait: owns the read side after a position is known. A reader names the stream id it started with,
//! so that a name that was deleted and reused never continues an old reader with new records.

use std::time::Duration;

use kelda_engine::{Chunk, ReadError as EngineError, ReadLimit, Wait};
use kelda_format::summary::Selection;
use kelda_format::{Offset, StreamId, StreamName};

use crate::caller::{Caller, Operation};
use crate::lookup::LookupError;
use crate::service::Service;
use crate::{Fact, Fault, Field, NodeFault, Problem};

/// Why a read gave nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The name gave no stream, or not this one.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// The position was removed by trim or retention.
    #[error("the records there are no longer held, the first one held is {start}")]
    Trimmed {
        /// The first offset held.
        start: Offset,
    },
    /// The position lies ahead.
    #[error("the position is past the tail, which is {tail}")]
    PastTail {
        /// The tail.
        tail: Offset,
    },
    /// The stream was deleted under the reader.
    #[error("the stream was deleted")]
    Gone,
    /// Stored bytes failed their checks.
    #[error("{object} is damaged: {detail}")]
    Damaged {
        /// Which object.
        object: String,
        /// What is wrong with it.
        detail: String,
    },
    /// The node cannot now: the store or the session does not answer, or another node has to.
    #[error(transparent)]
    Node(#[from] NodeFault),
}

impl From<EngineError> for ReadError {
    fn from(error: EngineError) -> ReadError {
        match error {
            EngineError::Trimmed { start } => ReadError::Trimmed { start },
            EngineError::PastTail { tail } => ReadError::PastTail { tail },
            EngineError::Gone => ReadError::Gone,
            EngineError::Damaged { object, detail } => ReadError::Damaged { object, detail },
            EngineError::Unavailable(reason) => NodeFault::Unavailable { reason }.into(),
        }
    }
}

impl Fault for ReadError {
    fn problem(&self) -> Problem {
        match self {
            ReadError::Lookup(error) => error.problem(),
            ReadError::Trimmed { .. } => Problem::OffsetGone,
            ReadError::PastTail { .. } => Problem::OffsetPastTail,
            ReadError::Gone => Problem::Gone,
            ReadError::Damaged { .. } => Problem::Damaged,
            ReadError::Node(error) => error.problem(),
        }
    }

    fn fields(&self) -> Vec<Field> {
        match self {
            ReadError::Lookup(error) => error.fields(),
            ReadError::Trimmed { start } => vec![("start_offset", Fact::Offset(*start))],
            ReadError::PastTail { tail } => vec![("next_offset", Fact::Offset(*tail))],
            ReadError::Node(error) => error.fields(),
            ReadError::Gone | ReadError::Damaged { .. } => Vec::new(),
        }
    }
}

impl Service {
    /// Reads from a position that was resolved for this stream.
    ///
    /// # Errors
    /// [`ReadError`]; with [`LookupError::OtherStream`] when the name was reused meanwhile.
    pub async fn read(
        &self,
        caller: &Caller,
        name: &StreamName,
        stream: StreamId,
        from: Offset,
        limit: ReadLimit,
    ) -> Result<Chunk, ReadError> {
        self.read_any(caller, (name, stream), from, limit, None).await
    }

    /// As [`Service::read`], for who wants only what `wanted` says: everything wanted between `from` and the `next` of the
    /// answer is in it, and much else may be left out, up to all of it.
    ///
    /// # Errors
    /// As [`Service::read`].
    pub async fn read_wanted(
        &self,
        caller: &Caller,
        (name, stream): (&StreamName, StreamId),
        from: Offset,
        limit: ReadLimit,
        wanted: &Selection,
    ) -> Result<Chunk, ReadError> {
        self.read_any(caller, (name, stream), from, limit, Some(wanted)).await
    }

    async fn read_any(
        &self,
        caller: &Caller,
        (name, stream): (&StreamName, StreamId),
        from: Offset,
        limit: ReadLimit,
        wanted: Option<&Selection>,
    ) -> Result<Chunk, ReadError> {
        let inner = &self.inner;
        let used = {
            let view = inner.meta.view();
            let entry = inner.find(&view, (caller, Operation::Read), name, Some(stream))?;
            inner.enter(entry)?
        };
        let mut patience = inner.patience();
        let chunk = loop {
            let read = match wanted {
                None => inner.engine.read(stream, from, limit).await,
                Some(wanted) => inner.engine.read_wanted(stream, from, limit, wanted).await,
            };
            match read {
                Err(EngineError::Unavailable(_)) if inner.wait_again(&mut patience).await => {}
                outcome => break outcome?,
            }
        };
        used.touch();
        Ok(chunk)
    }

    /// Waits until there are records after `after`, that is until the durable tail is greater, or until there
    /// never will be. A waiting reader uses the stream, which so does not expire by its TTL.
    pub async fn wait(&self, name: &StreamName, stream: StreamId, after: Offset, timeout: Duration) -> Wait {
        let inner = &self.inner;
        let used = {
            let view = inner.meta.view();
            let entry = view.entry(name).filter(|entry| entry.stream == stream);
            match entry.map(|entry| inner.enter(entry)) {
                Some(Ok(used)) => used,
                None | Some(Err(_)) => return Wait::Gone,
            }
        };
        let ends = inner.env.clock.monotonic() + timeout;
        let mut patience = inner.patience();
        let woken = loop {
            let left = ends.saturating_sub(inner.env.clock.monotonic());
            match inner.engine.wait(stream, after, left).await {
                // A session that is replaced is no news to a reader.
                Wait::Ended if inner.wait_again(&mut patience).await => {}
                woken => break woken,
            }
        };
        used.touch();
        woken
    }
}
