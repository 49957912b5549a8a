//! The connection of the verbs and of the benchmark: owns how the client library is set up for them, guarantees that a verb
//! makes one try where it does not say how long it tries again. Never sends anything.

use kelda_client::{Kelda, RetryPolicy};

use crate::exit::Failure;

/// A client of this endpoint, which connects when it is used.
pub fn client(endpoint: &str) -> Result<Kelda, Failure> {
    Ok(Kelda::builder(endpoint).client_name("kelda").retry(RetryPolicy::never()).build()?)
}
