//! Reading bytes that may be hostile: owns the cursor, guarantees that no read leaves the input or allocates
//! beyond it, never skips what it does not understand.

use std::borrow::Cow;

use bytes::Bytes;

use super::DecodeError;

/// A cursor over bytes. What it reads is named by `what` in every error.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    /// The buffer that `bytes` is all of, when it is reference-counted; reads then share it.
    shared: Option<&'a Bytes>,
    at: usize,
    what: &'static str,
}

impl<'a> Reader<'a> {
    /// A reader of `bytes`, whose errors say that `what` does not decode.
    #[must_use]
    pub fn new(bytes: &'a [u8], what: &'static str) -> Reader<'a> {
        Reader { bytes, shared: None, at: 0, what }
    }

    /// As [`Reader::new`], but [`Reader::shared`] slices `bytes` instead of copying.
    #[must_use]
    pub fn of_shared(bytes: &'a Bytes, what: &'static str) -> Reader<'a> {
        Reader { bytes, shared: Some(bytes), at: 0, what }
    }

    /// Bytes read so far.
    #[must_use]
    pub fn at(&self) -> usize {
        self.at
    }

    /// Bytes not read yet.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Whether everything was read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.remaining() == 0
    }

    /// An error at the current position.
    #[must_use]
    pub fn error(&self, detail: impl Into<Cow<'static, str>>) -> DecodeError {
        DecodeError::new(self.what, self.at as u64, detail)
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// When bytes are left over.
    pub fn finish(&self) -> Result<(), DecodeError> {
        match self.remaining() {
            0 => Ok(()),
            left => Err(self.error(format!("{left} bytes follow where it should end"))),
        }
    }

    /// The next `len` bytes.
    ///
    /// # Errors
    /// When fewer are left.
    pub fn take(&mut self, len: usize) -> Result<&'a [u8], DecodeError> {
        if len > self.remaining() {
            return Err(self.error(format!("{len} bytes expected, {} left", self.remaining())));
        }
        let taken = &self.bytes[self.at..self.at + len];
        self.at += len;
        Ok(taken)
    }

    /// The next `len` bytes as a buffer of their own: shared where the reader may, copied otherwise.
    ///
    /// # Errors
    /// When fewer are left.
    pub fn shared(&mut self, len: usize) -> Result<Bytes, DecodeError> {
        let from = self.at;
        let taken = self.take(len)?;
        Ok(match self.shared {
            Some(shared) => shared.slice(from..from + len),
            None => Bytes::copy_from_slice(taken),
        })
    }

    /// The next `N` bytes.
    ///
    /// # Errors
    /// When fewer are left.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    /// One byte.
    ///
    /// # Errors
    /// When none is left.
    pub fn u8(&mut self) -> Result<u8, DecodeError> {
        Ok(self.array::<1>()?[0])
    }

    /// A little-endian `u16`.
    ///
    /// # Errors
    /// When fewer than 2 bytes are left.
    pub fn u16(&mut self) -> Result<u16, DecodeError> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    /// A little-endian `u32`.
    ///
    /// # Errors
    /// When fewer than 4 bytes are left.
    pub fn u32(&mut self) -> Result<u32, DecodeError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// A little-endian `u64`.
    ///
    /// # Errors
    /// When fewer than 8 bytes are left.
    pub fn u64(&mut self) -> Result<u64, DecodeError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A varint in its shortest form.
    ///
    /// # Errors
    /// When the bytes end, the value leaves `u64`, or a shorter encoding exists.
    pub fn varint(&mut self) -> Result<u64, DecodeError> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return Err(self.error("varint above 64 bits"));
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                if byte == 0 && shift > 0 {
                    return Err(self.error("varint not in its shortest form"));
                }
                return Ok(value);
            }
        }
        Err(self.error("varint longer than 10 bytes"))
    }

    /// A varint that is at most `max`.
    ///
    /// # Errors
    /// As [`Reader::varint`], and when it is larger.
    pub fn varint_up_to(&mut self, max: u64) -> Result<u64, DecodeError> {
        match self.varint()? {
            value if value <= max => Ok(value),
            value => Err(self.error(format!("{value} found, at most {max} allowed"))),
        }
    }

    /// A varint length of something of which each unit takes at least one of the bytes left.
    ///
    /// # Errors
    /// As [`Reader::varint`], and when the bytes left cannot hold it.
    pub fn length(&mut self) -> Result<usize, DecodeError> {
        let length = self.varint()?;
        match usize::try_from(length) {
            Ok(length) if length <= self.remaining() => Ok(length),
            _ => Err(self.error(format!("length {length}, but only {} bytes left", self.remaining()))),
        }
    }

    /// Bytes behind their varint length.
    ///
    /// # Errors
    /// When the length does not decode or exceeds the bytes left.
    pub fn bytes(&mut self) -> Result<&'a [u8], DecodeError> {
        let length = self.length()?;
        self.take(length)
    }

    /// UTF-8 text behind its varint length.
    ///
    /// # Errors
    /// As [`Reader::bytes`], and when the bytes are not UTF-8.
    pub fn text(&mut self) -> Result<&'a str, DecodeError> {
        let bytes = self.bytes()?;
        std::str::from_utf8(bytes).map_err(|error| self.error(format!("text is not UTF-8: {error}")))
    }

    /// `len` bytes that must be zero.
    ///
    /// # Errors
    /// When fewer are left, or one is not zero.
    pub fn zeros(&mut self, len: usize) -> Result<(), DecodeError> {
        if self.take(len)?.iter().any(|&byte| byte != 0) {
            return Err(self.error("reserved bytes that are not zero"));
        }
        Ok(())
    }

    /// A layout version of 8 bits that must be `known`.
    ///
    /// # Errors
    /// When it is not; [`DecodeError::newer`] when it is a later one.
    pub fn version_u8(&mut self, known: u8) -> Result<(), DecodeError> {
        let found = self.u8()?;
        self.check_version(u32::from(found), u32::from(known))
    }

    /// A layout version of 16 bits that must be `known`.
    ///
    /// # Errors
    /// When it is not; [`DecodeError::newer`] when it is a later one.
    pub fn version_u16(&mut self, known: u16) -> Result<(), DecodeError> {
        let found = self.u16()?;
        self.check_version(u32::from(found), u32::from(known))
    }

    /// A layout version of 16 bits from `oldest` to `known`.
    ///
    /// # Errors
    /// When it is another; [`DecodeError::newer`] when it is a later one.
    pub fn version_u16_from(&mut self, oldest: u16, known: u16) -> Result<u16, DecodeError> {
        let found = self.u16()?;
        let right = if (oldest..=known).contains(&found) { found } else { known };
        self.check_version(u32::from(found), u32::from(right))?;
        Ok(found)
    }

    fn check_version(&self, found: u32, known: u32) -> Result<(), DecodeError> {
        if found > known {
            return Err(DecodeError::newer(self.what, self.at as u64, found, known));
        }
        if found < known {
            return Err(self.error(format!("version {found} found, {known} is the oldest known")));
        }
        Ok(())
    }
}
