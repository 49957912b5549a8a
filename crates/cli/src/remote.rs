//! The connection of the verbs and of the benchmark: owns how the client library is set up for them, guarantees that a verb
//! makes one try where it does not say how long it tries again. Never sends anything.

use std::time::Duration;

use kelda_client::{Builder, Kelda, RetryPolicy};

use crate::exit::Failure;

/// The least time that an answer has to begin, however little patience there is: a busy server answers within it.
const SHORTEST_ANSWER: Duration = Duration::from_secs(10);
/// And the most.
const LONGEST_ANSWER: Duration = Duration::from_secs(30);

/// A client of this endpoint, which connects when it is used.
pub fn client(endpoint: &str) -> Result<Kelda, Failure> {
    Ok(builder(endpoint).retry(RetryPolicy::never()).build()?)
}

/// The same, for a verb that tries again for so long while the server is not there.
pub fn patient(endpoint: &str, patience: Duration) -> Result<Kelda, Failure> {
    let policy = RetryPolicy::within(patience);
    let limit = patience.clamp(SHORTEST_ANSWER, LONGEST_ANSWER);
    Ok(builder(endpoint).retry(policy).reconnect(policy).answer_timeout(limit).build()?)
}

fn builder(endpoint: &str) -> Builder {
    Kelda::builder(endpoint).client_name("kelda")
}
