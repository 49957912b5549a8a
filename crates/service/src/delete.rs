//! Delete: the name is free for reuse when it returns; the bytes go later. A held stream is deleted by its
//! owner, which stops appends first (P5).

use kelda_engine::EndError;
use kelda_format::rows::EntryState;
use kelda_format::{StreamId, StreamName};

use crate::caller::{Caller, Operation};
use crate::lookup::LookupError;
use crate::service::{Inner, Service};
use crate::{Fault, Field, NodeFault, Problem};

/// Why a stream was not deleted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeleteError {
    /// The name gave no stream.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// The node cannot now.
    #[error(transparent)]
    Node(#[from] NodeFault),
}

impl Fault for DeleteError {
    fn problem(&self) -> Problem {
        match self {
            DeleteError::Lookup(error) => error.problem(),
            DeleteError::Node(error) => error.problem(),
        }
    }

    fn fields(&self) -> Vec<Field> {
        match self {
            DeleteError::Lookup(error) => error.fields(),
            DeleteError::Node(error) => error.fields(),
        }
    }
}

impl Service {
    /// Deletes the stream of this name and returns the id that it had.
    ///
    /// A creation that a crash left unfinished is removed as well, and answered as not found.
    ///
    /// # Errors
    /// [`DeleteError`].
    pub async fn delete(
        &self,
        caller: &Caller,
        name: &StreamName,
        if_stream: Option<StreamId>,
    ) -> Result<StreamId, DeleteError> {
        let inner = &self.inner;
        let found = {
            let view = inner.meta.view();
            inner.find(&view, (caller, Operation::Delete), name, if_stream).map(|entry| entry.stream)
        };
        match found {
            Ok(stream) => {
                inner.remove(name, stream).await?;
                Ok(stream)
            }
            Err(error) => {
                inner.remove_unfinished(name).await?;
                Err(error.into())
            }
        }
    }
}

impl Inner {
    /// Removes an internal stream and its name.
    async fn remove(&self, name: &StreamName, stream: StreamId) -> Result<(), DeleteError> {
        match self.engine.delete(stream).await {
            Ok(()) => {
                self.deadlines.forget(stream);
                Ok(())
            }
            Err(EndError::Gone) => Err(LookupError::NotFound { name: name.clone() }.into()),
            Err(error) => match self.end_fault(error) {
                Some(fault) => Err(fault.into()),
                None => Err(LookupError::NotFound { name: name.clone() }.into()),
            },
        }
    }

    /// Removes what a crash left of a creation; one that is under way finishes first.
    async fn remove_unfinished(&self, name: &StreamName) -> Result<(), DeleteError> {
        let unfinished = |inner: &Inner| {
            let view = inner.meta.view();
            let entry = view.entry(name).filter(|entry| entry.state == EntryState::Initialising)?;
            Some(entry.stream)
        };
        if unfinished(self).is_none() {
            return Ok(());
        }
        let _flight = self.flights.enter(name).await?;
        match unfinished(self) {
            Some(stream) => self.remove(name, stream).await,
            None => Ok(()),
        }
    }
}
