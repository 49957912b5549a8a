//! What keeps a node from doing what was asked although the request is right: owns that error, the ownership
//! port, and the way to an open stream.

use std::sync::Arc;

use kelda_engine::{EndError, OpenError, OpenStream};
use kelda_format::{NodeId, SessionId, StreamId};

use crate::patience::Patience;
use crate::service::{Inner, Service};
use crate::{Fact, Fault, Field, Problem};

/// Why this node cannot do something now. Except for [`NodeFault::OutcomeUnknown`], nothing was done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NodeFault {
    /// A bound on what may be in flight is reached.
    #[error("too much is in flight: {what}")]
    Overloaded {
        /// Which bound.
        what: String,
    },
    /// No space on the device.
    #[error("no space is left for appends")]
    DiskFull,
    /// Another node owns the stream.
    #[error("the stream is owned by node {node} at {address}")]
    Elsewhere {
        /// Which node.
        node: NodeId,
        /// Where it is reached.
        address: String,
    },
    /// Starting, recovering, stopping or cut off.
    #[error("not available now: {reason}")]
    Unavailable {
        /// Why.
        reason: String,
    },
    /// It may or may not have been done.
    #[error("it is unknown whether this was done")]
    OutcomeUnknown,
}

impl Fault for NodeFault {
    fn problem(&self) -> Problem {
        match self {
            NodeFault::Overloaded { .. } => Problem::Overloaded,
            NodeFault::DiskFull => Problem::DiskFull,
            NodeFault::Elsewhere { .. } => Problem::OwnedElsewhere,
            NodeFault::Unavailable { .. } => Problem::Unavailable,
            NodeFault::OutcomeUnknown => Problem::OutcomeUnknown,
        }
    }

    fn fields(&self) -> Vec<Field> {
        match self {
            NodeFault::Elsewhere { address, .. } => vec![("owner", Fact::Text(address.clone()))],
            _ => Vec::new(),
        }
    }
}

/// Who has to do what only the owner of a stream can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// This node: it holds the stream, or nobody does and it may open it.
    Owned,
    /// Another node.
    Elsewhere {
        /// Which.
        node: NodeId,
        /// Where it is reached.
        address: String,
    },
    /// Nobody now: the session that held it ended and is not recovered, or the stream is gone.
    Unavailable {
        /// Why.
        reason: String,
    },
}

impl Service {
    /// Who owns a stream, as of the current view.
    #[must_use]
    pub fn ownership(&self, stream: StreamId) -> Ownership {
        self.inner.ownership(stream)
    }
}

impl Inner {
    pub(crate) fn ownership(&self, stream: StreamId) -> Ownership {
        let view = self.meta.view();
        let Some(row) = view.stream(stream) else {
            return Ownership::Unavailable { reason: format!("stream {stream} is gone") };
        };
        let own = self.engine.session();
        match row.owner {
            None => Ownership::Owned,
            Some(owner) if owner == own => Ownership::Owned,
            Some(owner) => match self.elsewhere(owner) {
                NodeFault::Elsewhere { node, address } => Ownership::Elsewhere { node, address },
                fault => Ownership::Unavailable { reason: fault.to_string() },
            },
        }
    }

    /// What it means that another session holds a stream.
    fn elsewhere(&self, owner: SessionId) -> NodeFault {
        let view = self.meta.view();
        let live = view.live_session(owner.node).is_some_and(|live| live.id == owner);
        match view.node(owner.node) {
            Some(row) if live && owner.node != self.engine.session().node => {
                NodeFault::Elsewhere { node: owner.node, address: row.address.clone() }
            }
            _ => NodeFault::Unavailable { reason: format!("session {owner} ended and is not recovered yet") },
        }
    }

    /// Why the tail of a stream is not known here.
    pub(crate) fn tail_unknown(&self, stream: StreamId) -> NodeFault {
        let owner = self.meta.view().stream(stream).and_then(|row| row.owner);
        match owner {
            Some(owner) if owner != self.engine.session() => self.elsewhere(owner),
            _ => NodeFault::Unavailable {
                reason: "the session that held the stream was just replaced".to_owned(),
            },
        }
    }

    /// The open stream, opened if need be; `Err(None)` when it is gone.
    pub(crate) async fn open(
        &self,
        stream: StreamId,
        patience: &mut Patience,
    ) -> Result<Arc<OpenStream>, Option<NodeFault>> {
        loop {
            match self.engine.open(stream).await {
                Ok(open) => return Ok(open),
                Err(OpenError::Gone) => return Err(None),
                Err(OpenError::Elsewhere(owner)) => return Err(Some(self.elsewhere(owner))),
                Err(OpenError::Unavailable(reason)) => {
                    if !self.wait_again(patience).await {
                        return Err(Some(NodeFault::Unavailable { reason }));
                    }
                }
            }
        }
    }

    /// What the end of a stream's life, or of a part of it, came to; `Err(None)` when the stream is gone.
    pub(crate) fn end_fault(&self, error: EndError) -> Option<NodeFault> {
        match error {
            EndError::Gone => None,
            EndError::Elsewhere(owner) => Some(self.elsewhere(owner)),
            EndError::PastTail { tail } => {
                Some(NodeFault::Unavailable { reason: format!("the tail moved to {tail}") })
            }
            EndError::Refused(reason) | EndError::Unavailable(reason) => {
                Some(NodeFault::Unavailable { reason })
            }
            EndError::OutcomeUnknown => Some(NodeFault::OutcomeUnknown),
        }
    }
}
