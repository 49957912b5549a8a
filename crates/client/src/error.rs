//! What can go wrong for a caller: owns the few kinds to act on, guarantees that a server's problem document
//! keeps its code and fields, never hides that an outcome is unknown.

use std::fmt;
use std::sync::Arc;

use kelda_format::StreamId;
use serde::Deserialize;

use crate::reader::ReaderEnd;

/// The body of a Kelda error answer (`application/problem+json`).
#[derive(Clone, Debug, Default, Deserialize, serde::Serialize)]
pub struct Problem {
    /// `urn:kelda:problem:<code>`.
    #[serde(default)]
    pub r#type: String,
    /// A short sentence for the kind.
    #[serde(default)]
    pub title: String,
    /// The HTTP status.
    #[serde(default)]
    pub status: u16,
    /// What was wrong with this request, with the value, and what would be right.
    #[serde(default)]
    pub detail: String,
    /// Further fields, such as `next_offset`.
    #[serde(flatten)]
    pub fields: serde_json::Map<String, serde_json::Value>,
}

impl Problem {
    /// The code at the end of `type`, for instance `not-found`.
    #[must_use]
    pub fn code(&self) -> &str {
        self.r#type.rsplit(':').next().unwrap_or_default()
    }
}

/// An error of the client library. More kinds may come, so a `match` needs an arm for the rest.
///
/// ```no_run
/// # async fn example(kelda: kelda_client::Kelda) -> Result<(), kelda_client::Error> {
/// use kelda_client::Error;
/// match kelda.head("orders").await {
///     Ok(head) => println!("the next offset is {}", head.next_offset),
///     Err(error) if error.code() == Some("not-found") => println!("there is no such stream"),
///     Err(Error::Tls { cause, .. }) => println!("mend the certificate: {cause}"),
///     Err(error) if error.is_retryable() => println!("later: {error}"),
///     Err(error) => return Err(error),
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The endpoint is no URL of a server.
    #[error(
        "the endpoint {0:?} is not usable: expected http://HOST:PORT, https://HOST:PORT or amqp://USER:PASSWORD@HOST:PORT/VHOST"
    )]
    Endpoint(String),
    /// A value that was given to the library cannot be used; nothing was sent.
    #[error("{what} {value} is not usable: expected {expected}")]
    Invalid {
        /// Which value.
        what: &'static str,
        /// The value.
        value: String,
        /// What would be right.
        expected: &'static str,
    },
    /// The transport has no way to do it; nothing was sent.
    #[error("{transport} has no way to {what}")]
    Unsupported {
        /// What was to be done.
        what: &'static str,
        /// The transport.
        transport: &'static str,
    },
    /// The server could not be reached, or the connection broke before the answer. Nothing was written.
    #[error("no answer from {endpoint}: {cause}")]
    Unreachable {
        /// Where the request went.
        endpoint: String,
        /// What the transport said.
        cause: String,
    },
    /// A request that writes was sent and no answer came: whether it was done is unknown.
    #[error("no answer from {endpoint}, and whether it was done is unknown: {cause}")]
    OutcomeUnknown {
        /// Where the request went.
        endpoint: String,
        /// What the transport said.
        cause: String,
    },
    /// There is no secure connection to the server: its certificate is not trusted, is for another name or has expired, or
    /// it speaks no TLS. Nothing was sent. What starts says so at once; what was running tries on, since certificates are
    /// renewed.
    #[error("no secure connection to {endpoint}: {cause}")]
    Tls {
        /// Where the request was to go.
        endpoint: String,
        /// What is wrong, and what would be right.
        cause: String,
    },
    /// The server answered with a problem.
    #[error("{}", describe(.0))]
    Problem(Box<Problem>),
    /// The stream exists with other limits than those asked for.
    #[error(transparent)]
    Mismatch(Box<StreamMismatch>),
    /// The name stands for another stream than before: it was deleted and created anew.
    #[error("{stream:?} is not the stream it was: expected stream id {expected}, found {found}")]
    StreamChanged {
        /// The name.
        stream: String,
        /// The id that was read or stored before.
        expected: StreamId,
        /// The id that the name stands for now, or `unknown`.
        found: String,
    },
    /// Records that were to be read are gone: trimmed, or given up by retention.
    #[error("the records of {stream:?} from offset {from} up to {to} are gone")]
    Gap {
        /// The stream.
        stream: String,
        /// The first offset that is missing.
        from: u64,
        /// The first offset that is held.
        to: u64,
    },
    /// A newer run of the same producer has taken over; what was not acknowledged was not written by this one.
    #[error("producer {producer:?} is fenced: its epoch {epoch} is older than {current}")]
    Fenced {
        /// The producer's id.
        producer: String,
        /// The epoch of this one.
        epoch: u64,
        /// The epoch in force.
        current: u64,
    },
    /// The server does not know the producer any more, as after 7 days without a record, and it cannot go on by itself: its id
    /// is one that another run may have used meanwhile, or whether its last batch was stored is unknown.
    #[error("the server has forgotten producer {producer:?}, as it does after 7 days without a record: {}", forgotten(*outcome_unknown))]
    ProducerForgotten {
        /// The producer's id.
        producer: String,
        /// Whether the batches under way may have been stored; else they were not.
        outcome_unknown: bool,
    },
    /// What was used has ended before: a producer that was closed or failed, a reader that stopped.
    #[error("{0} has ended")]
    Ended(String),
    /// A reader stopped by itself.
    #[error("the reader stopped: {0}")]
    ReaderStopped(Box<ReaderEnd>),
    /// A payload does not decode, or cannot be encoded.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// A checkpoint could not be loaded or stored.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// A record or a batch is larger than any server takes.
    #[error(transparent)]
    Limit(#[from] kelda_format::LimitError),
    /// The server answered something that this library does not understand.
    #[error("the server's answer is not understood: {0}")]
    Protocol(String),
}

impl Error {
    /// Whether the same request may succeed later: the server was not there, restarting or overloaded.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Error::Unreachable { .. } | Error::OutcomeUnknown { .. } => true,
            // What is damaged stays so.
            Error::Problem(problem) if problem.code() == "damaged" => false,
            Error::Problem(problem) => matches!(problem.status, 408 | 429 | 500 | 502 | 503 | 504 | 507),
            _ => false,
        }
    }

    /// Whether something may have been written although no answer says so.
    #[must_use]
    pub fn is_outcome_unknown(&self) -> bool {
        match self {
            Error::OutcomeUnknown { .. } => true,
            Error::ProducerForgotten { outcome_unknown, .. } => *outcome_unknown,
            // A 5xx of something between says nothing; those of a server that did nothing have codes of their own.
            Error::Problem(problem) => {
                matches!(problem.code(), "outcome-unknown" | "internal")
                    || matches!(problem.status, 502 | 504)
            }
            _ => false,
        }
    }

    /// Whether the connection is gone, as opposed to a server that answers and cannot do it now.
    #[must_use]
    pub fn is_lost_connection(&self) -> bool {
        matches!(self, Error::Unreachable { .. } | Error::OutcomeUnknown { .. } | Error::Tls { .. })
    }

    /// The server's code, when a problem is the cause: `not-found`, `sealed` and so on.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        match self {
            Error::Problem(problem) => Some(problem.code()),
            _ => None,
        }
    }
}

/// A payload that does not decode, or cannot be encoded.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the payload is no {expected}: {cause}")]
pub struct CodecError {
    /// What it should be: `JSON`, `UTF-8 text` and so on.
    pub expected: &'static str,
    /// What is wrong with it.
    pub cause: String,
}

impl CodecError {
    /// An error that says what was expected and what was found.
    pub fn new(expected: &'static str, cause: impl fmt::Display) -> CodecError {
        CodecError { expected, cause: cause.to_string() }
    }
}

/// A checkpoint that could not be loaded or stored.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the checkpoint {name:?} {what}: {cause}")]
pub struct CheckpointError {
    /// The name it is stored under.
    pub name: String,
    /// What went wrong: `cannot be loaded`, `cannot be stored`.
    pub what: &'static str,
    /// Why.
    pub cause: Arc<dyn std::error::Error + Send + Sync>,
}

/// A stream that exists with other limits than those asked for, and both of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamMismatch {
    /// The stream.
    pub stream: String,
    /// What differs; never empty.
    pub differences: Vec<Difference>,
}

/// One thing that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What it is: `max_age`, `max_bytes`, `segment_bytes`, `content_type`, `ttl`, ...
    pub field: String,
    /// What the stream has; `None` when it has none.
    pub existing: Option<String>,
    /// What was asked for; `None` when nothing was.
    pub requested: Option<String>,
}

impl std::error::Error for StreamMismatch {}

impl fmt::Display for StreamMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} exists with other limits", self.stream)?;
        for (index, difference) in self.differences.iter().enumerate() {
            let said = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
            let (existing, requested) = (said(&difference.existing), said(&difference.requested));
            let before = if index == 0 { ": " } else { "; " };
            write!(f, "{before}{} is {existing}, asked for was {requested}", difference.field)?;
        }
        Ok(())
    }
}

fn forgotten(outcome_unknown: bool) -> &'static str {
    if outcome_unknown {
        "whether the batches under way were stored is unknown"
    } else {
        "nothing under way was stored; open a producer anew"
    }
}

fn describe(problem: &Problem) -> String {
    if problem.detail.is_empty() {
        format!("{} ({})", problem.title, problem.status)
    } else {
        format!("{} ({}, {})", problem.detail, problem.status, problem.code())
    }
}
