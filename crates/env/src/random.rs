//! Randomness: owns the port. Guarantees that numbers are unpredictable in the real world and a function of the seed in a
//! simulation. Never used for a decision that replicas must agree on: such values travel in commands.

/// A source of random numbers.
pub trait Random: Send + Sync + 'static {
    /// A uniformly distributed number.
    fn next_u64(&self) -> u64;

    /// Fills `bytes` with random bytes.
    fn fill(&self, bytes: &mut [u8]);

    /// A random 16-byte value, for ids that must never meet another one.
    fn nonce(&self) -> [u8; 16] {
        let mut nonce = [0; 16];
        self.fill(&mut nonce);
        nonce
    }

    /// A number in `0..bound`; 0 when the bound is 0. The bias is below `bound / 2^64`.
    fn below(&self, bound: u64) -> u64 {
        let wide = u128::from(self.next_u64()) * u128::from(bound);
        u64::try_from(wide >> 64).unwrap_or(0)
    }
}
