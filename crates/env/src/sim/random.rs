//! Seeded randomness: owns one stream of numbers. Guarantees that it is a function of seed and name. Never draws from the
//! system.

use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::Random;

/// A stream of numbers made from a seed.
pub struct SimRandom {
    generator: Mutex<StdRng>,
}

impl SimRandom {
    /// The stream of `seed`.
    #[must_use]
    pub fn new(seed: u64) -> SimRandom {
        SimRandom { generator: Mutex::new(StdRng::seed_from_u64(seed)) }
    }

    /// True with this probability; nothing is drawn when it is 0.
    #[must_use]
    pub fn chance(&self, probability: f64) -> bool {
        probability > 0.0 && self.fraction() < probability
    }

    /// A number in `0.0..1.0`.
    #[must_use]
    pub fn fraction(&self) -> f64 {
        let bits = u32::try_from(self.next_u64() >> 32).unwrap_or(0);
        f64::from(bits) / (f64::from(u32::MAX) + 1.0)
    }

    /// One of the items.
    ///
    /// # Panics
    /// When there are none.
    pub fn pick<'a, T>(&self, items: &'a [T]) -> &'a T {
        let index = self.below(items.len() as u64);
        &items[usize::try_from(index).unwrap_or(0)]
    }
}

impl Random for SimRandom {
    fn next_u64(&self) -> u64 {
        self.generator.lock().next_u64()
    }

    fn fill(&self, bytes: &mut [u8]) {
        self.generator.lock().fill_bytes(bytes);
    }
}
