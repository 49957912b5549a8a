//! Randomness of the operating system. Guarantees that two processes never draw the same nonce. Never seeded.

use rand::TryRng;
use rand::rngs::SysRng;

use crate::Random;

/// The operating system's random numbers.
pub struct RealRandom;

impl Random for RealRandom {
    /// # Panics
    /// When the operating system has no randomness to give, which leaves nothing safe to do.
    fn next_u64(&self) -> u64 {
        SysRng.try_next_u64().expect("the operating system gives random numbers")
    }

    /// # Panics
    /// As [`RealRandom::next_u64`].
    fn fill(&self, bytes: &mut [u8]) {
        SysRng.try_fill_bytes(bytes).expect("the operating system gives random numbers");
    }
}
