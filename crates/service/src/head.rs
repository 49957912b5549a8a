//! HEAD: what a stream is, and whether there is one. Never opens it and never slides its TTL.

use kelda_format::{StreamId, StreamName};

use crate::caller::{Caller, Operation};
use crate::info::StreamInfo;
use crate::lookup::LookupError;
use crate::service::Service;
use crate::{Fault, Field, NodeFault, Problem};

/// Why it cannot be said what a stream is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeadError {
    /// The name gave no stream.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// Its tail is not known here now (P19).
    #[error(transparent)]
    Node(#[from] NodeFault),
}

impl Fault for HeadError {
    fn problem(&self) -> Problem {
        match self {
            HeadError::Lookup(error) => error.problem(),
            HeadError::Node(error) => error.problem(),
        }
    }

    fn fields(&self) -> Vec<Field> {
        match self {
            HeadError::Lookup(error) => error.fields(),
            HeadError::Node(error) => error.fields(),
        }
    }
}

impl Service {
    /// What the stream of this name is now.
    ///
    /// # Errors
    /// [`HeadError`].
    pub fn head(
        &self,
        caller: &Caller,
        name: &StreamName,
        if_stream: Option<StreamId>,
    ) -> Result<StreamInfo, HeadError> {
        let inner = &self.inner;
        let view = inner.meta.view();
        let entry = inner.find(&view, (caller, Operation::Head), name, if_stream)?;
        let not_found = || LookupError::NotFound { name: name.clone() };
        Ok(inner.info(&view, entry).ok_or_else(not_found)?.certain(inner)?)
    }

    /// The stream that a name stands for, for a front end that wants to refuse a request before it takes its
    /// body. What comes after may still find another one.
    ///
    /// # Errors
    /// [`LookupError`].
    pub fn find(
        &self,
        caller: &Caller,
        operation: Operation,
        name: &StreamName,
        if_stream: Option<StreamId>,
    ) -> Result<StreamId, LookupError> {
        let view = self.inner.meta.view();
        self.inner.find(&view, (caller, operation), name, if_stream).map(|entry| entry.stream)
    }
}
