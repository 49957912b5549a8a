//! Fields of methods.
//!
//! Owns how each basic type lies in a frame, consecutive bits included. Guarantees that reading past the end is an error.

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// Bytes that are not what their place asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// Reads fields one after the other.
pub struct Reader {
    rest: Bytes,
    /// The octet that bits are taken from, and how many were taken.
    bits: Option<(u8, u8)>,
}

impl Reader {
    /// Reads `bytes`.
    pub fn new(bytes: Bytes) -> Reader {
        Reader { rest: bytes, bits: None }
    }

    /// Whether all is read.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next so many bytes, sharing the memory of the frame.
    pub fn take(&mut self, count: usize) -> Result<Bytes, Malformed> {
        self.bits = None;
        if self.rest.len() < count { Err(Malformed) } else { Ok(self.rest.split_to(count)) }
    }

    /// The next bytes, as many as an array has.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        self.bits = None;
        if self.rest.len() < N {
            return Err(Malformed);
        }
        let mut array = [0; N];
        self.rest.copy_to_slice(&mut array);
        Ok(array)
    }
}

/// A type of the protocol.
pub trait Field: Sized {
    /// Reads one.
    fn get(from: &mut Reader) -> Result<Self, Malformed>;
    /// Appends one.
    fn put(&self, to: &mut Writer<'_>);
    /// Whether it is UTF-8 where it has to be.
    fn is_text(&self) -> bool {
        true
    }
    /// Whether it nests deeper than may be kept.
    fn is_too_deep(&self) -> bool {
        false
    }
}

/// Appends fields one after the other.
pub struct Writer<'a> {
    /// Where to.
    pub out: &'a mut BytesMut,
    /// Where the octet of bits is that is being filled, and how many are in it.
    bits: Option<(usize, u8)>,
}

impl<'a> Writer<'a> {
    /// Appends to `out`.
    pub fn new(out: &'a mut BytesMut) -> Writer<'a> {
        Writer { out, bits: None }
    }

    /// What follows is no bit.
    pub fn plain(&mut self) -> &mut BytesMut {
        self.bits = None;
        self.out
    }
}

macro_rules! numbers {
    ($($type:ty: $put:ident;)+) => {
        $(impl Field for $type {
            fn get(from: &mut Reader) -> Result<Self, Malformed> {
                Ok(<$type>::from_be_bytes(from.array()?))
            }

            fn put(&self, to: &mut Writer<'_>) {
                to.plain().$put(*self);
            }
        })+
    };
}

numbers! {
    u8: put_u8;
    u16: put_u16;
    u32: put_u32;
    u64: put_u64;
}

impl Field for bool {
    fn get(from: &mut Reader) -> Result<bool, Malformed> {
        let (octet, taken) = match from.bits {
            Some((octet, taken)) if taken < 8 => (octet, taken),
            _ => (from.array::<1>()?[0], 0),
        };
        from.bits = Some((octet, taken + 1));
        Ok(octet >> taken & 1 == 1)
    }

    fn put(&self, to: &mut Writer<'_>) {
        let (at, filled) = match to.bits {
            Some((at, filled)) if filled < 8 => (at, filled),
            _ => {
                to.out.put_u8(0);
                (to.out.len() - 1, 0)
            }
        };
        to.out[at] |= u8::from(*self) << filled;
        to.bits = Some((at, filled + 1));
    }
}

/// A short string: at most 255 bytes, which need not be UTF-8.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Short(Bytes);

impl Short {
    /// Bytes as a short string, if they are not too many.
    pub fn of(bytes: Bytes) -> Option<Short> {
        (bytes.len() <= 255).then_some(Short(bytes))
    }

    /// Its bytes.
    pub fn bytes(&self) -> &Bytes {
        &self.0
    }

    /// As text for people.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Texts longer than a short string holds are cut.
impl From<&str> for Short {
    fn from(text: &str) -> Short {
        let mut end = text.len().min(255);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        Short(Bytes::copy_from_slice(&text.as_bytes()[..end]))
    }
}

impl Field for Short {
    fn get(from: &mut Reader) -> Result<Short, Malformed> {
        let length = u8::get(from)?;
        from.take(usize::from(length)).map(Short)
    }

    fn is_text(&self) -> bool {
        std::str::from_utf8(&self.0).is_ok()
    }

    fn put(&self, to: &mut Writer<'_>) {
        let out = to.plain();
        out.put_u8(u8::try_from(self.0.len()).unwrap_or(u8::MAX));
        out.put_slice(&self.0);
    }
}

/// A long string.
impl Field for Bytes {
    fn get(from: &mut Reader) -> Result<Bytes, Malformed> {
        let length = u32::get(from)?;
        from.take(usize::try_from(length).map_err(|_| Malformed)?)
    }

    fn put(&self, to: &mut Writer<'_>) {
        let out = to.plain();
        out.put_u32(u32::try_from(self.len()).unwrap_or(u32::MAX));
        out.put_slice(self);
    }
}
