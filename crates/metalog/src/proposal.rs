//! One command on its way into the log: owns who may still withdraw it, guarantees that a caller who gave up
//! learns whether the command can still be applied, never applies anything.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kelda_format::Command;
use kelda_meta::{Outcome, ProposeError};
use tokio::sync::oneshot;

/// What the flusher holds of a proposal.
#[derive(Debug)]
pub(crate) struct Proposal {
    command: Command,
    decided: Arc<AtomicBool>,
    answer: oneshot::Sender<Result<Outcome, ProposeError>>,
}

/// What the caller holds of it.
#[derive(Debug)]
pub(crate) struct Ticket {
    decided: Arc<AtomicBool>,
    pub(crate) answer: oneshot::Receiver<Result<Outcome, ProposeError>>,
}

/// Where the outcome of a command that is being written goes.
pub(crate) type Answer = oneshot::Sender<Result<Outcome, ProposeError>>;

impl Proposal {
    pub(crate) fn new(command: Command) -> (Self, Ticket) {
        let (answer, wait) = oneshot::channel();
        let decided = Arc::new(AtomicBool::new(false));
        (Self { command, decided: Arc::clone(&decided), answer }, Ticket { decided, answer: wait })
    }

    /// Takes the command to write it; `None` when the caller withdrew it or is gone.
    pub(crate) fn take(self) -> Option<(Command, Answer)> {
        let withdrawn = self.decided.swap(true, Ordering::SeqCst) || self.answer.is_closed();
        (!withdrawn).then_some((self.command, self.answer))
    }

    /// Answers without writing; the command is certainly not applied.
    pub(crate) fn refuse(self, reason: &str) {
        let _ = self.answer.send(Err(ProposeError::Unavailable(reason.to_owned())));
    }
}

impl Ticket {
    /// Withdraws the command; false when it is being written or was.
    pub(crate) fn withdraw(&self) -> bool {
        !self.decided.swap(true, Ordering::SeqCst)
    }
}
