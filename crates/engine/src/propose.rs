//! Proposing a command until its outcome is known: owns the retries, guarantees that only commands which may be
//! repeated are (every command of the engine answers a repeat with `AlreadyApplied` or a rejection that the view
//! explains), never retries beyond its bound without saying so.

use kelda_meta::{Command, Outcome, ProposeError, Rejection};

use crate::retry::Backoff;
use crate::session::Shared;

/// How often a command with an unknown outcome is proposed before the caller has to live with not knowing.
const TRIES: u32 = 8;

/// Why there is no outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// It took no effect, and never will.
    Rejected(Rejection),
    /// It certainly took no effect.
    Unavailable(String),
    /// It may or may not have taken effect.
    Unknown(String),
}

/// Proposes for somebody who waits: an unavailable log is reported at once, an unknown outcome is asked for again.
pub(crate) async fn propose(shared: &Shared, command: impl Into<Command>) -> Result<Outcome, Failure> {
    let command = command.into();
    let mut backoff = Backoff::new(&shared.config);
    let mut unknown = false;
    let mut last = String::new();
    for _ in 0..TRIES {
        match shared.meta.propose(command.clone()).await {
            Ok(outcome) => return Ok(outcome),
            Err(ProposeError::Rejected(rejection)) => return Err(Failure::Rejected(rejection)),
            Err(ProposeError::Unavailable(why) | ProposeError::Full(why)) if !unknown => {
                return Err(Failure::Unavailable(why));
            }
            Err(ProposeError::Unavailable(why) | ProposeError::Full(why)) => last = why,
            Err(ProposeError::Unknown(why)) => {
                unknown = true;
                last = why;
            }
        }
        shared.env.clock.sleep(backoff.next()).await;
    }
    Err(Failure::Unknown(last))
}
