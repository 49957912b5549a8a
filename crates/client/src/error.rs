//! What can go wrong for a caller: owns the few kinds to act on, guarantees that a server's problem document
//! keeps its code and fields, never hides that an outcome is unknown.

use serde::Deserialize;

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

/// An error of the client library.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The endpoint is not an `http://host:port` URL.
    #[error("the endpoint {0:?} is not usable: expected http://HOST:PORT")]
    Endpoint(String),
    /// The server could not be reached, or the connection broke before the answer; when the request wrote
    /// something, whether it did is unknown.
    #[error("no answer from {endpoint}: {cause}")]
    Unreachable {
        /// Where the request went.
        endpoint: String,
        /// What the transport said.
        cause: String,
    },
    /// The server answered with a problem.
    #[error("{}", describe(.0))]
    Problem(Box<Problem>),
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
            Error::Unreachable { .. } => true,
            // What is damaged stays so.
            Error::Problem(problem) if problem.code() == "damaged" => false,
            Error::Problem(problem) => matches!(problem.status, 429 | 500 | 502 | 503 | 504 | 507),
            Error::Endpoint(_) | Error::Limit(_) | Error::Protocol(_) => false,
        }
    }
}

fn describe(problem: &Problem) -> String {
    if problem.detail.is_empty() {
        format!("{} ({})", problem.title, problem.status)
    } else {
        format!("{} ({}, {})", problem.detail, problem.status, problem.code())
    }
}
