//! The typed value of a header: bytes, text and every AMQP 0-9-1 field type. Owns the tags, guarantees that
//! nesting is bounded on the way in and out, never converts one type into another.

use bytes::Bytes;

use super::Header;
use crate::limits::{LimitError, MAX_HEADER_DEPTH};
use crate::wire::{DecodeError, Reader, put_bytes};

/// A typed value. In brackets: the AMQP 0-9-1 field type it is delivered as.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Any bytes (`x`).
    Bytes(Bytes),
    /// UTF-8 text (`S`).
    Text(String),
    /// A long string that is not UTF-8 (`S`).
    LongString(Bytes),
    /// A short string, at most 255 bytes (`s`).
    ShortString(String),
    /// A truth value (`t`).
    Bool(bool),
    /// A signed byte (`b`).
    I8(i8),
    /// An unsigned byte (`B`).
    U8(u8),
    /// A signed 16-bit number (`s` in RabbitMQ's table, `U` in the specification's).
    I16(i16),
    /// An unsigned 16-bit number (`u`).
    U16(u16),
    /// A signed 32-bit number (`I`).
    I32(i32),
    /// An unsigned 32-bit number (`i`).
    U32(u32),
    /// A signed 64-bit number (`l`).
    I64(i64),
    /// An unsigned 64-bit number (no AMQP type in use; delivered as `l` where it fits).
    U64(u64),
    /// A 32-bit float (`f`).
    F32(f32),
    /// A 64-bit float (`d`).
    F64(f64),
    /// `value` / 10^`scale` (`D`).
    Decimal {
        /// Digits after the point.
        scale: u8,
        /// The digits.
        value: u32,
    },
    /// Seconds since the Unix epoch (`T`).
    Timestamp(u64),
    /// Nothing (`V`).
    Void,
    /// Named values in order (`F`).
    Table(Vec<Header>),
    /// Values in order (`A`).
    Array(Vec<Value>),
}

mod tag {
    pub const BYTES: u8 = 1;
    pub const TEXT: u8 = 2;
    pub const LONG_STRING: u8 = 3;
    pub const SHORT_STRING: u8 = 4;
    pub const BOOL: u8 = 5;
    pub const I8: u8 = 6;
    pub const U8: u8 = 7;
    pub const I16: u8 = 8;
    pub const U16: u8 = 9;
    pub const I32: u8 = 10;
    pub const U32: u8 = 11;
    pub const I64: u8 = 12;
    pub const U64: u8 = 13;
    pub const F32: u8 = 14;
    pub const F64: u8 = 15;
    pub const DECIMAL: u8 = 16;
    pub const TIMESTAMP: u8 = 17;
    pub const VOID: u8 = 18;
    pub const TABLE: u8 = 19;
    pub const ARRAY: u8 = 20;
}

/// The ceiling of an AMQP short string.
const MAX_SHORT_STRING_BYTES: usize = 255;

impl Value {
    /// Appends tag and value; `depth` levels of nesting are left.
    pub(super) fn put(&self, out: &mut Vec<u8>, depth: usize) -> Result<(), LimitError> {
        match self {
            Value::Bytes(bytes) => put_tagged(out, tag::BYTES, bytes),
            Value::Text(text) => put_tagged(out, tag::TEXT, text.as_bytes()),
            Value::LongString(bytes) => put_tagged(out, tag::LONG_STRING, bytes),
            Value::ShortString(text) if text.len() > MAX_SHORT_STRING_BYTES => {
                return Err(LimitError::ShortStringBytes { found: text.len() as u64 });
            }
            Value::ShortString(text) => put_tagged(out, tag::SHORT_STRING, text.as_bytes()),
            Value::Bool(value) => put_fixed(out, tag::BOOL, &[u8::from(*value)]),
            Value::I8(value) => put_fixed(out, tag::I8, &value.to_le_bytes()),
            Value::U8(value) => put_fixed(out, tag::U8, &value.to_le_bytes()),
            Value::I16(value) => put_fixed(out, tag::I16, &value.to_le_bytes()),
            Value::U16(value) => put_fixed(out, tag::U16, &value.to_le_bytes()),
            Value::I32(value) => put_fixed(out, tag::I32, &value.to_le_bytes()),
            Value::U32(value) => put_fixed(out, tag::U32, &value.to_le_bytes()),
            Value::I64(value) => put_fixed(out, tag::I64, &value.to_le_bytes()),
            Value::U64(value) => put_fixed(out, tag::U64, &value.to_le_bytes()),
            Value::F32(value) => put_fixed(out, tag::F32, &value.to_le_bytes()),
            Value::F64(value) => put_fixed(out, tag::F64, &value.to_le_bytes()),
            Value::Decimal { scale, value } => {
                put_fixed(out, tag::DECIMAL, &[*scale]);
                out.extend_from_slice(&value.to_le_bytes());
            }
            Value::Timestamp(seconds) => put_fixed(out, tag::TIMESTAMP, &seconds.to_le_bytes()),
            Value::Void => put_fixed(out, tag::VOID, &[]),
            Value::Table(headers) => {
                let inner = put_nested(headers, depth, Header::put)?;
                put_tagged(out, tag::TABLE, &inner);
            }
            Value::Array(values) => {
                let inner = put_nested(values, depth, Value::put)?;
                put_tagged(out, tag::ARRAY, &inner);
            }
        }
        Ok(())
    }

    /// Reads tag and value.
    pub(super) fn get(reader: &mut Reader<'_>, depth: usize) -> Result<Value, DecodeError> {
        Ok(match reader.u8()? {
            tag::BYTES => Value::Bytes(get_shared(reader)?),
            tag::TEXT => Value::Text(reader.text()?.to_owned()),
            tag::LONG_STRING => Value::LongString(get_shared(reader)?),
            tag::SHORT_STRING => Value::ShortString(get_short(reader)?.to_owned()),
            tag::BOOL => Value::Bool(get_bool(reader)?),
            tag::I8 => Value::I8(i8::from_le_bytes(reader.array()?)),
            tag::U8 => Value::U8(reader.u8()?),
            tag::I16 => Value::I16(i16::from_le_bytes(reader.array()?)),
            tag::U16 => Value::U16(reader.u16()?),
            tag::I32 => Value::I32(i32::from_le_bytes(reader.array()?)),
            tag::U32 => Value::U32(reader.u32()?),
            tag::I64 => Value::I64(i64::from_le_bytes(reader.array()?)),
            tag::U64 => Value::U64(reader.u64()?),
            tag::F32 => Value::F32(f32::from_le_bytes(reader.array()?)),
            tag::F64 => Value::F64(f64::from_le_bytes(reader.array()?)),
            tag::DECIMAL => Value::Decimal { scale: reader.u8()?, value: reader.u32()? },
            tag::TIMESTAMP => Value::Timestamp(reader.u64()?),
            tag::VOID => Value::Void,
            tag::TABLE => Value::Table(get_nested(reader, depth, Header::get)?),
            tag::ARRAY => Value::Array(get_nested(reader, depth, Value::get)?),
            other => return Err(unknown(reader, other)),
        })
    }

    /// Reads past tag and value, accepting exactly what [`Value::get`] does, without allocating.
    pub(super) fn check(reader: &mut Reader<'_>, depth: usize) -> Result<(), DecodeError> {
        match reader.u8()? {
            tag::BYTES | tag::LONG_STRING => reader.bytes().map(drop),
            tag::TEXT => reader.text().map(drop),
            tag::SHORT_STRING => get_short(reader).map(drop),
            tag::BOOL => get_bool(reader).map(drop),
            tag::I8 | tag::U8 => reader.take(1).map(drop),
            tag::I16 | tag::U16 => reader.take(2).map(drop),
            tag::I32 | tag::U32 | tag::F32 => reader.take(4).map(drop),
            tag::DECIMAL => reader.take(5).map(drop),
            tag::I64 | tag::U64 | tag::F64 | tag::TIMESTAMP => reader.take(8).map(drop),
            tag::VOID => Ok(()),
            tag::TABLE => check_nested(reader, depth, Header::check),
            tag::ARRAY => check_nested(reader, depth, Value::check),
            other => Err(unknown(reader, other)),
        }
    }
}

fn put_tagged(out: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    out.push(tag);
    put_bytes(out, bytes);
}

fn put_fixed(out: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    out.push(tag);
    out.extend_from_slice(bytes);
}

fn put_nested<T>(
    list: &[T],
    depth: usize,
    put: impl Fn(&T, &mut Vec<u8>, usize) -> Result<(), LimitError>,
) -> Result<Vec<u8>, LimitError> {
    let depth = depth.checked_sub(1).ok_or(LimitError::HeaderDepth)?;
    let mut inner = Vec::new();
    list.iter().try_for_each(|element| put(element, &mut inner, depth))?;
    Ok(inner)
}

fn get_shared(reader: &mut Reader<'_>) -> Result<Bytes, DecodeError> {
    let length = reader.length()?;
    reader.shared(length)
}

fn get_short<'a>(reader: &mut Reader<'a>) -> Result<&'a str, DecodeError> {
    match reader.text()? {
        text if text.len() <= MAX_SHORT_STRING_BYTES => Ok(text),
        text => Err(reader.error(format!("short string of {} bytes, at most 255 allowed", text.len()))),
    }
}

fn get_bool(reader: &mut Reader<'_>) -> Result<bool, DecodeError> {
    <bool as crate::wire::Wire>::get(reader)
}

/// Reads a nested list in the outer reader, so that shared bytes stay shared, up to where it must end.
fn nested(
    reader: &mut Reader<'_>,
    depth: usize,
    mut element: impl FnMut(&mut Reader<'_>, usize) -> Result<(), DecodeError>,
) -> Result<(), DecodeError> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(reader.error(format!("nested deeper than {MAX_HEADER_DEPTH} levels")));
    };
    let length = reader.length()?;
    let end = reader.at() + length;
    while reader.at() < end {
        element(reader, depth)?;
    }
    if reader.at() != end {
        return Err(reader.error("element reaches beyond the table or array it is in"));
    }
    Ok(())
}

fn get_nested<T>(
    reader: &mut Reader<'_>,
    depth: usize,
    get: impl Fn(&mut Reader<'_>, usize) -> Result<T, DecodeError>,
) -> Result<Vec<T>, DecodeError> {
    let mut list = Vec::new();
    nested(reader, depth, |reader, depth| {
        list.push(get(reader, depth)?);
        Ok(())
    })?;
    Ok(list)
}

fn check_nested(
    reader: &mut Reader<'_>,
    depth: usize,
    check: impl Fn(&mut Reader<'_>, usize) -> Result<(), DecodeError>,
) -> Result<(), DecodeError> {
    nested(reader, depth, check)
}

fn unknown(reader: &Reader<'_>, tag: u8) -> DecodeError {
    reader.error(format!("unknown header value tag {tag}, 1 to {} known", tag::ARRAY))
}
