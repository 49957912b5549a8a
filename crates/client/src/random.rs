//! The library's only source of chance: owns the seeds of pauses and of producer ids. Good enough that two clients
//! differ, never good enough for a secret.

#![expect(clippy::disallowed_types, reason = "a seed is to depend on chance; nothing is iterated")]

use std::hash::{BuildHasher, RandomState};

/// A number that differs between calls and between processes.
pub(crate) fn seed() -> u64 {
    // Every state hashes with keys of its own; the library has no other source of randomness and needs no better.
    RandomState::new().hash_one(0_u8)
}
