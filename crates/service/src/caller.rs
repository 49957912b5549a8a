//! Who asks, and whether they may: owns the caller's identity and the one question every operation asks.
//!
//! Until access tokens exist everybody is anonymous and everything is allowed; the question is asked all the
//! same, so that tokens change this file and no other.

use kelda_format::StreamName;

use crate::{Fault, Problem};

/// The identity behind a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    reserved: bool,
}

impl Caller {
    /// A client that gave no credentials.
    #[must_use]
    pub fn anonymous() -> Caller {
        Caller { reserved: false }
    }

    /// A front end that acts for itself and may create reserved names, as AMQP does for virtual hosts.
    #[must_use]
    pub fn front_end() -> Caller {
        Caller { reserved: true }
    }

    /// Whether this caller may create names that are reserved.
    #[must_use]
    pub fn may_reserve(&self) -> bool {
        self.reserved
    }
}

/// What a caller wants to do with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Create a stream, or ensure that it exists.
    Create,
    /// Append records or seal.
    Append,
    /// Read records or wait for them.
    Read,
    /// Ask what a stream is.
    Head,
    /// See a name in a list.
    List,
    /// Delete a stream.
    Delete,
    /// Remove old records.
    Trim,
    /// Change retention.
    Update,
}

/// The caller may not do this.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{operation:?} is not allowed on {name}")]
pub struct Denied {
    /// What was asked.
    pub operation: Operation,
    /// Of which stream.
    pub name: StreamName,
}

impl Fault for Denied {
    fn problem(&self) -> Problem {
        Problem::Forbidden
    }
}

/// Decides whether `caller` may do `operation` with `name`.
///
/// # Errors
/// [`Denied`] when not; never, until access tokens exist.
pub fn authorise(_caller: &Caller, _operation: Operation, _name: &StreamName) -> Result<(), Denied> {
    Ok(())
}
