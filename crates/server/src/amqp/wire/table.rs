//! Field tables.
//!
//! Owns the letters of types and how their values lie in a frame. Guarantees order and repeats, and that it shows when tables
//! nest deeper than headers of records may; what lies deeper is not read. Never converts a value into another type; where a
//! record's value has none here, the nearest is sent.

use bytes::{BufMut, Bytes, BytesMut};
use kelda_format::limits::MAX_HEADER_DEPTH;
use kelda_format::{Header, Value};

use super::codec::{Field, Malformed, Reader, Short, Writer};

/// Named values in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table(pub Vec<Header>);

impl Table {
    /// The first value of this name.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|header| header.name == name).map(|header| &header.value)
    }

    /// Whether this name has a value that is true.
    pub fn is_true(&self, name: &str) -> bool {
        matches!(self.value(name), Some(Value::Bool(true)))
    }
}

impl Field for Table {
    fn get(from: &mut Reader) -> Result<Table, Malformed> {
        // The table itself is no level.
        entries(from, MAX_HEADER_DEPTH + 1).map(Table)
    }

    fn put(&self, to: &mut Writer<'_>) {
        put_table(to.plain(), &self.0);
    }

    fn is_too_deep(&self) -> bool {
        self.0.iter().any(|header| exceeds(&header.value, MAX_HEADER_DEPTH))
    }
}

/// Whether a value has more levels than these.
fn exceeds(value: &Value, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else {
        return matches!(value, Value::Table(_) | Value::Array(_));
    };
    match value {
        Value::Table(list) => list.iter().any(|header| exceeds(&header.value, below)),
        Value::Array(list) => list.iter().any(|value| exceeds(value, below)),
        _ => false,
    }
}

fn entries(from: &mut Reader, depth: usize) -> Result<Vec<Header>, Malformed> {
    let mut inner = Reader::new(Bytes::get(from)?);
    let mut list = Vec::new();
    // One level more than may be kept is empty, and shows that it was there.
    let Some(depth) = depth.checked_sub(1) else { return Ok(list) };
    while !inner.is_empty() {
        let name = Short::get(&mut inner)?;
        let name = std::str::from_utf8(name.bytes()).map_err(|_| Malformed)?.to_owned();
        list.push(Header { name, value: value(&mut inner, depth)? });
    }
    Ok(list)
}

fn value(from: &mut Reader, depth: usize) -> Result<Value, Malformed> {
    Ok(match u8::get(from)? {
        b't' => Value::Bool(u8::get(from)? != 0),
        b'b' => Value::I8(i8::from_be_bytes(from.array()?)),
        b'B' => Value::U8(u8::get(from)?),
        b's' | b'U' => Value::I16(i16::from_be_bytes(from.array()?)),
        b'u' => Value::U16(u16::get(from)?),
        b'I' => Value::I32(i32::from_be_bytes(from.array()?)),
        b'i' => Value::U32(u32::get(from)?),
        b'l' | b'L' => Value::I64(i64::from_be_bytes(from.array()?)),
        b'f' => Value::F32(f32::from_be_bytes(from.array()?)),
        b'd' => Value::F64(f64::from_be_bytes(from.array()?)),
        b'D' => Value::Decimal { scale: u8::get(from)?, value: u32::get(from)? },
        b'S' => match String::from_utf8(Bytes::get(from)?.to_vec()) {
            Ok(text) => Value::Text(text),
            Err(error) => Value::LongString(error.into_bytes().into()),
        },
        b'x' => Value::Bytes(Bytes::get(from)?),
        b'T' => Value::Timestamp(u64::get(from)?),
        b'V' => Value::Void,
        b'F' => Value::Table(entries(from, depth)?),
        b'A' => {
            let mut inner = Reader::new(Bytes::get(from)?);
            let mut list = Vec::new();
            let Some(depth) = depth.checked_sub(1) else { return Ok(Value::Array(list)) };
            while !inner.is_empty() {
                list.push(value(&mut inner, depth)?);
            }
            Value::Array(list)
        }
        _ => return Err(Malformed),
    })
}

fn put_table(out: &mut BytesMut, list: &[Header]) {
    put_long(out, |out| {
        for Header { name, value } in list {
            Short::from(name.as_str()).put(&mut Writer::new(out));
            put_value(out, value);
        }
    });
}

/// Appends the length of what `put` appends, and that.
fn put_long(out: &mut BytesMut, put: impl FnOnce(&mut BytesMut)) {
    let at = out.len();
    out.put_u32(0);
    put(out);
    let length = u32::try_from(out.len() - at - 4).unwrap_or(u32::MAX);
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

fn put_value(out: &mut BytesMut, value: &Value) {
    let mut tagged = |letter: u8, bytes: &[u8]| {
        out.put_u8(letter);
        out.put_slice(bytes);
    };
    match value {
        Value::Bool(value) => tagged(b't', &[u8::from(*value)]),
        Value::I8(value) => tagged(b'b', &value.to_be_bytes()),
        Value::U8(value) => tagged(b'B', &[*value]),
        Value::I16(value) => tagged(b's', &value.to_be_bytes()),
        Value::U16(value) => tagged(b'u', &value.to_be_bytes()),
        Value::I32(value) => tagged(b'I', &value.to_be_bytes()),
        Value::U32(value) => tagged(b'i', &value.to_be_bytes()),
        Value::I64(value) => tagged(b'l', &value.to_be_bytes()),
        Value::U64(value) => match i64::try_from(*value) {
            Ok(value) => tagged(b'l', &value.to_be_bytes()),
            Err(_) => put_string(out, b'S', value.to_string().as_bytes()),
        },
        Value::F32(value) => tagged(b'f', &value.to_be_bytes()),
        Value::F64(value) => tagged(b'd', &value.to_be_bytes()),
        Value::Decimal { scale, value } => {
            tagged(b'D', &[*scale]);
            out.put_u32(*value);
        }
        Value::Timestamp(seconds) => tagged(b'T', &seconds.to_be_bytes()),
        Value::Void => tagged(b'V', &[]),
        Value::Bytes(bytes) => put_string(out, b'x', bytes),
        Value::LongString(bytes) => put_string(out, b'S', bytes),
        Value::Text(text) | Value::ShortString(text) => put_string(out, b'S', text.as_bytes()),
        Value::Table(list) => {
            out.put_u8(b'F');
            put_table(out, list);
        }
        Value::Array(list) => {
            out.put_u8(b'A');
            put_long(out, |out| list.iter().for_each(|value| put_value(out, value)));
        }
    }
}

fn put_string(out: &mut BytesMut, letter: u8, bytes: &[u8]) {
    out.put_u8(letter);
    out.put_u32(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
    out.put_slice(bytes);
}
