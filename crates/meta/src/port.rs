//! The port through which everything above reaches the metadata: owns the trait, never an implementation.

use std::sync::Arc;

use futures::future::BoxFuture;

use crate::{Command, Outcome, Rejection, State};

/// The metadata of the cluster, as one node sees it.
pub trait Meta: Send + Sync + 'static {
    /// The state as far as this node has applied the log. Immutable and cheap to hold.
    fn view(&self) -> Arc<State>;

    /// Proposes a command. Resolves after the local view contains it.
    ///
    /// # Errors
    /// A [`ProposeError`], which says whether the command may have been applied.
    fn propose(&self, command: Command) -> BoxFuture<'static, Result<Outcome, ProposeError>>;

    /// Resolves once the view's applied index is above `after`.
    fn changed(&self, after: u64) -> BoxFuture<'static, ()>;
}

/// Why a proposal has no outcome.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProposeError {
    /// It is in the log and took no effect.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// It certainly took no effect and may be proposed again.
    #[error("the metadata is unavailable, nothing was changed: {0}")]
    Unavailable(String),
    /// It certainly took no effect: the medium of the metadata has no space left.
    #[error("the metadata has no space left, nothing was changed: {0}")]
    Full(String),
    /// It may or may not have taken effect.
    #[error("the outcome of a metadata command is unknown: {0}")]
    Unknown(String),
}
