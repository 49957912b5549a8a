//! Fork: a new name that begins with the records of another stream up to an offset. Guarantees that the source's owner has
//! committed up to there before the fork is proposed (P14), that a repeat finds the fork that it made, and that a deleted
//! source whose forks live is answered as gone. Never copies a record.

use kelda_engine::EndError;
use kelda_format::command::CreateStream;
use kelda_format::rows::{EntryRow, EntryState, ForkPoint};
use kelda_format::{Offset, StreamName};
use kelda_meta::{Outcome, ProposeError, Rejection};

use crate::caller::{Caller, Denied, Operation, authorise};
use crate::create::Created;
use crate::lookup::LookupError;
use crate::service::{Inner, Service};
use crate::{Fact, Fault, Field, NodeFault, Problem};

/// How often a fork looks again after something came between.
const FORK_ATTEMPTS: u32 = 8;

/// Why there is no such fork afterwards.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForkError {
    /// The name of the source gave no stream.
    #[error(transparent)]
    Source(#[from] LookupError),
    /// The caller may not.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// A reserved name.
    #[error("the name {name} is reserved: its first segment begins with \"__\"")]
    Reserved {
        /// The name.
        name: StreamName,
    },
    /// The offset lies behind the tail of the source.
    #[error("cannot fork at {asked}: the tail is {tail}")]
    PastTail {
        /// The offset that was asked for.
        asked: Offset,
        /// The tail.
        tail: Offset,
    },
    /// The offset lies before the first record held.
    #[error("cannot fork at {asked}: the first record held is {start}")]
    Trimmed {
        /// The offset that was asked for.
        asked: Offset,
        /// The first offset held.
        start: Offset,
    },
    /// The name stands for another stream.
    #[error("{name} is there and is not this fork")]
    Exists {
        /// The name.
        name: StreamName,
    },
    /// The name is held by a deleted stream whose forks live.
    #[error("the name {name} is not free: its stream was deleted and forks of it live")]
    Held {
        /// The name.
        name: StreamName,
    },
    /// The node cannot now.
    #[error(transparent)]
    Node(#[from] NodeFault),
}

impl Fault for ForkError {
    fn problem(&self) -> Problem {
        match self {
            ForkError::Source(error) => error.problem(),
            ForkError::Denied(error) => error.problem(),
            ForkError::Reserved { .. } => Problem::ReservedName,
            ForkError::PastTail { .. } => Problem::OffsetPastTail,
            ForkError::Trimmed { .. } => Problem::OffsetGone,
            ForkError::Exists { .. } => Problem::ConfigConflict,
            ForkError::Held { .. } => Problem::NameHeld,
            ForkError::Node(error) => error.problem(),
        }
    }

    fn fields(&self) -> Vec<Field> {
        match self {
            ForkError::Source(error) => error.fields(),
            ForkError::Node(error) => error.fields(),
            ForkError::PastTail { tail, .. } => vec![("next_offset", Fact::Offset(*tail))],
            ForkError::Trimmed { start, .. } => vec![("start_offset", Fact::Offset(*start))],
            _ => Vec::new(),
        }
    }
}

impl Service {
    /// Makes `name` a stream that holds what `source` holds before `offset`, and goes on by itself from there, with the
    /// content type, the limits and the expiry of the source. Answers with the fork that is there if it is this one.
    ///
    /// # Errors
    /// [`ForkError`].
    pub async fn fork(
        &self,
        caller: &Caller,
        source: &StreamName,
        offset: Offset,
        name: &StreamName,
    ) -> Result<Created, ForkError> {
        authorise(caller, Operation::Create, name)?;
        if name.is_reserved() && !caller.may_reserve() {
            return Err(ForkError::Reserved { name: name.clone() });
        }
        let inner = &self.inner;
        let _flight = inner.flights.enter(name).await?;
        for _ in 0..FORK_ATTEMPTS {
            let parent = {
                let view = inner.meta.view();
                inner.find(&view, (caller, Operation::Read), source, None)?.clone()
            };
            if let Some(created) = inner.try_fork(&parent, offset, name).await? {
                return Ok(created);
            }
        }
        let reason = format!("forking {source} was overtaken {FORK_ATTEMPTS} times");
        Err(NodeFault::Unavailable { reason }.into())
    }
}

impl Inner {
    /// One try; nothing when something came between.
    async fn try_fork(
        &self,
        parent: &EntryRow,
        offset: Offset,
        name: &StreamName,
    ) -> Result<Option<Created>, ForkError> {
        let point = ForkPoint { stream: parent.stream, offset };
        if let Some(found) = self.forked(name, point).await? {
            return Ok(Some(found));
        }
        match self.engine.commit_through(parent.stream, offset).await {
            Ok(()) => {}
            Err(EndError::PastTail { tail }) => return Err(ForkError::PastTail { asked: offset, tail }),
            Err(error) => match self.end_fault(error) {
                Some(fault) => return Err(fault.into()),
                None => return Ok(None),
            },
        }
        let command = CreateStream {
            name: name.clone(),
            kind: parent.kind,
            content_type: parent.content_type.clone(),
            expiry: parent.expiry,
            retention: parent.retention,
            arguments: parent.arguments.clone(),
            parent: Some(point),
            initialising: false,
            at: self.now(),
            open: None,
        };
        match self.meta.propose(command.into()).await {
            Ok(Outcome::Created { stream, .. }) => {
                self.follow_new(stream, parent.expiry);
                self.forked(name, point).await.map(|found| found.map(|it| Created { new: true, ..it }))
            }
            // Trimmed, or its tail moved since.
            Err(ProposeError::Rejected(Rejection::OutOfRange { start, .. })) if offset < start => {
                Err(ForkError::Trimmed { asked: offset, start })
            }
            Err(ProposeError::Rejected(Rejection::SoftDeleted { .. })) => {
                Err(ForkError::Held { name: name.clone() })
            }
            // What is there now tells.
            Ok(_) | Err(ProposeError::Rejected(_) | ProposeError::Unknown(_)) => Ok(None),
            Err(ProposeError::Unavailable(reason)) => Err(NodeFault::Unavailable { reason }.into()),
            Err(ProposeError::Full(_)) => Err(NodeFault::DiskFull.into()),
        }
    }

    /// The fork of this name, if it is there; nothing when the name is free.
    async fn forked(&self, name: &StreamName, point: ForkPoint) -> Result<Option<Created>, ForkError> {
        let view = self.meta.view();
        let Some(entry) = view.entry(name) else { return Ok(None) };
        match entry.state {
            EntryState::SoftDeleted => Err(ForkError::Held { name: name.clone() }),
            EntryState::Live if self.is_expired(entry) => {
                self.expire(entry.stream).await?;
                Ok(None)
            }
            EntryState::Live if entry.parent == Some(point) => {
                Ok(self.info(&view, entry).map(|info| Created { new: false, info, receipt: None }))
            }
            EntryState::Live | EntryState::Initialising => Err(ForkError::Exists { name: name.clone() }),
        }
    }
}
