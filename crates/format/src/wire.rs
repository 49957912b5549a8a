//! The primitives of every encoding: owns [`Reader`], the writing helpers, [`Wire`] and the macros that derive
//! it. Guarantees that each value has exactly one encoding, that reading never panics and never allocates more
//! than a small multiple of the input. Never knows a layout.
//!
//! Fixed-size headers use little-endian integers of fixed width. Everything else is `Wire`: `u8` as is; wider
//! unsigned integers as LEB128 varints in their shortest form; text, bytes and lists with a varint length.

mod fixed;
mod macros;
mod reader;
mod types;

use std::borrow::Cow;

pub use crate::{wire_enum, wire_struct};
pub use fixed::Fixed;
pub use reader::Reader;

/// Bytes that are not what they should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} does not decode at byte {at}: {detail}")]
pub struct DecodeError {
    /// What was being read, e.g. `block header`.
    pub what: &'static str,
    /// Where in the input the trouble is, in bytes.
    pub at: u64,
    /// What was found and what would be right.
    pub detail: Cow<'static, str>,
    /// Set when the layout is of a version that this software does not know yet: the bytes are not damaged.
    pub newer: Option<NewerVersion>,
}

/// A layout version beyond the newest that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewerVersion {
    /// The version found.
    pub found: u32,
    /// The newest version known.
    pub known: u32,
}

impl DecodeError {
    /// An error at byte `at` of what is called `what`.
    #[must_use]
    pub fn new(what: &'static str, at: u64, detail: impl Into<Cow<'static, str>>) -> DecodeError {
        DecodeError { what, at, detail: detail.into(), newer: None }
    }

    /// The error for what was written in version `found` by newer software, where `known` is the newest known.
    #[must_use]
    pub fn newer(what: &'static str, at: u64, found: u32, known: u32) -> DecodeError {
        let detail = format!("it has version {found}, this software knows up to {known}: use a newer one");
        DecodeError { newer: Some(NewerVersion { found, known }), ..DecodeError::new(what, at, detail) }
    }
}

/// A value with exactly one encoding.
pub trait Wire: Sized {
    /// Appends the encoding to `out`.
    fn put(&self, out: &mut Vec<u8>);

    /// Reads one value.
    ///
    /// # Errors
    /// When the bytes are not the encoding of a value; the reader is then somewhere inside it.
    fn get(reader: &mut Reader<'_>) -> Result<Self, DecodeError>;

    /// The encoding alone.
    #[must_use]
    fn encoded(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.put(&mut out);
        out
    }

    /// Reads a value that takes up all of `bytes`; `what` names it in errors.
    ///
    /// # Errors
    /// When `bytes` is not the encoding of a value, or more follows it.
    fn decode_all(bytes: &[u8], what: &'static str) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes, what);
        let value = Self::get(&mut reader)?;
        reader.finish()?;
        Ok(value)
    }
}

/// CRC-32C (Castagnoli) of `bytes`.
#[must_use]
pub fn crc(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes)
}

/// CRC-32C of what `seed` was computed of, followed by `bytes`.
#[must_use]
pub fn crc_with(seed: u32, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(seed, bytes)
}

/// The last four of at least four bytes: where a header keeps its own checksum. Zeros when there are fewer.
#[must_use]
pub fn last_four(bytes: &[u8]) -> [u8; 4] {
    bytes.last_chunk().copied().unwrap_or_default()
}

/// Appends `value` as a LEB128 varint in its shortest form (1 to 10 bytes).
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

/// How many bytes [`put_varint`] appends for `value`.
#[must_use]
pub fn varint_len(value: u64) -> usize {
    let bits = 64 - (value | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

/// Appends `bytes` behind their length as a varint.
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends a little-endian `u16`.
pub fn put_u16(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends a little-endian `u32`.
pub fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends a little-endian `u64`.
pub fn put_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Maps signed to unsigned so that small magnitudes stay small: 0, -1, 1, -2 become 0, 1, 2, 3.
#[must_use]
pub fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

/// The inverse of [`zigzag`].
#[must_use]
pub fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -((value & 1).cast_signed())
}

/// How many zero bytes follow `len` bytes to reach a multiple of 8.
#[must_use]
pub fn padding(len: u64) -> usize {
    (len.wrapping_neg() & 7) as usize
}
