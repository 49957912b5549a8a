//! Writing fixed-size headers without allocating: owns the cursor, guarantees that a header is filled exactly.

/// Fills `N` bytes from the front, little-endian.
#[derive(Debug)]
pub struct Fixed<const N: usize> {
    bytes: [u8; N],
    at: usize,
}

impl<const N: usize> Fixed<N> {
    /// A header that begins with `magic`.
    ///
    /// # Panics
    /// Like every method, when more than `N` bytes are put.
    #[must_use]
    pub fn new(magic: &[u8]) -> Fixed<N> {
        let mut fixed = Fixed { bytes: [0; N], at: 0 };
        fixed.bytes(magic);
        fixed
    }

    /// Puts `bytes` as they are.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.bytes[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }

    /// Puts one byte.
    pub fn u8(&mut self, value: u8) {
        self.bytes(&[value]);
    }

    /// Puts a `u16`.
    pub fn u16(&mut self, value: u16) {
        self.bytes(&value.to_le_bytes());
    }

    /// Puts a `u32`.
    pub fn u32(&mut self, value: u32) {
        self.bytes(&value.to_le_bytes());
    }

    /// Puts a `u64`.
    pub fn u64(&mut self, value: u64) {
        self.bytes(&value.to_le_bytes());
    }

    /// Leaves `len` reserved bytes zero.
    pub fn zeros(&mut self, len: usize) {
        assert!(self.at + len <= N, "header of {N} bytes overflows");
        self.at += len;
    }

    /// Puts the checksum of what was put so far, continued from `seed` (0 for none), as the last 4 bytes.
    #[must_use]
    pub fn finish(mut self, seed: u32) -> [u8; N] {
        let sum = super::crc_with(seed, &self.bytes[..self.at]);
        self.u32(sum);
        assert_eq!(self.at, N, "header not filled");
        self.bytes
    }
}
