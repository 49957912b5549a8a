//! Record headers: owns [`Header`] and the encoded list [`Headers`]. Guarantees that a list keeps order and
//! repeats, was validated when it was made, and costs nothing when empty. Never gives a name a meaning.
//!
//! Layout of a list: for each header the name (varint length, UTF-8), the value's tag (`u8`), the value.

mod value;

use bytes::Bytes;

pub use value::Value;

use crate::limits::{LimitError, MAX_HEADER_BLOCK_BYTES, MAX_HEADER_DEPTH, MAX_HEADER_NAME_BYTES};
use crate::wire::{DecodeError, Reader, put_bytes};

const WHAT: &str = "record headers";

/// A named, typed value beside a record's body.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// At most 255 bytes; names may repeat, and case is kept.
    pub name: String,
    /// The value.
    pub value: Value,
}

impl Header {
    /// A header.
    #[must_use]
    pub fn new(name: impl Into<String>, value: Value) -> Header {
        Header { name: name.into(), value }
    }

    fn put(&self, out: &mut Vec<u8>, depth: usize) -> Result<(), LimitError> {
        if self.name.len() > MAX_HEADER_NAME_BYTES {
            return Err(LimitError::HeaderNameBytes { found: self.name.len() as u64 });
        }
        put_bytes(out, self.name.as_bytes());
        self.value.put(out, depth)
    }

    fn get(reader: &mut Reader<'_>, depth: usize) -> Result<Header, DecodeError> {
        let name = get_name(reader)?.to_owned();
        Ok(Header { name, value: Value::get(reader, depth)? })
    }

    fn check(reader: &mut Reader<'_>, depth: usize) -> Result<(), DecodeError> {
        get_name(reader)?;
        Value::check(reader, depth)
    }
}

fn get_name<'a>(reader: &mut Reader<'a>) -> Result<&'a str, DecodeError> {
    let name = reader.text()?;
    if name.len() > MAX_HEADER_NAME_BYTES {
        return Err(reader
            .error(format!("header name of {} bytes, at most {MAX_HEADER_NAME_BYTES} allowed", name.len())));
    }
    Ok(name)
}

/// The headers of one record, encoded: at most 64 KiB.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers(Bytes);

impl Headers {
    /// No headers.
    #[must_use]
    pub const fn none() -> Headers {
        Headers(Bytes::new())
    }

    /// Encodes `list`.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub fn new(list: &[Header]) -> Result<Headers, LimitError> {
        let mut out = Vec::new();
        for header in list {
            header.put(&mut out, MAX_HEADER_DEPTH)?;
            if out.len() > MAX_HEADER_BLOCK_BYTES {
                return Err(LimitError::HeaderBlockBytes { found: out.len() as u64 });
            }
        }
        Ok(Headers(out.into()))
    }

    /// Takes an encoded list as it is, after checking all of it.
    ///
    /// # Errors
    /// When it is too long or not a list of headers.
    pub fn decode(encoded: Bytes) -> Result<Headers, DecodeError> {
        Headers::check(&encoded)?;
        Ok(Headers(encoded))
    }

    /// Checks an encoded list without keeping or copying anything.
    ///
    /// # Errors
    /// As [`Headers::decode`].
    pub fn check(encoded: &[u8]) -> Result<(), DecodeError> {
        let mut reader = Reader::new(encoded, WHAT);
        if encoded.len() > MAX_HEADER_BLOCK_BYTES {
            return Err(
                reader.error(format!("{} bytes, at most {MAX_HEADER_BLOCK_BYTES} allowed", encoded.len()))
            );
        }
        while !reader.is_empty() {
            Header::check(&mut reader, MAX_HEADER_DEPTH)?;
        }
        Ok(())
    }

    /// A list that was checked before, as part of a larger whole.
    pub(crate) fn trusted(encoded: Bytes) -> Headers {
        Headers(encoded)
    }

    /// The encoding; empty when there are no headers.
    #[must_use]
    pub fn encoded(&self) -> &Bytes {
        &self.0
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The headers in order; bytes values share the encoding's memory.
    pub fn iter(&self) -> impl Iterator<Item = Header> + '_ {
        let mut reader = Reader::of_shared(&self.0, WHAT);
        std::iter::from_fn(move || {
            if reader.is_empty() { None } else { Header::get(&mut reader, MAX_HEADER_DEPTH).ok() }
        })
    }

    /// The value of the first header called `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Value> {
        self.iter().find(|header| header.name == name).map(|header| header.value)
    }
}
