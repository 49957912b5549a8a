//! What is true of every state: owns the list. Guarantees nothing by itself; tests run it after every command,
//! and a check of a cluster's metadata runs it once.

/// Fails with a text made like that of `format!` unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($text:tt)+) => {
        if !$condition {
            return Err(format!($($text)+));
        }
    };
}

mod cluster;
mod objects;
mod streams;

use crate::State;

/// Checks every invariant.
///
/// # Errors
/// The first one that does not hold, in words.
pub fn check(state: &State) -> Result<(), String> {
    cluster::check(state)?;
    streams::check(state)?;
    objects::check(state)
}
