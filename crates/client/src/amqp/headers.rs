//! Header values on their way through AMQP's field tables: owns how the types map, the same as the server maps them.
//! Guarantees that what has a type there keeps it. Never names a header.

use bytes::Bytes;
use kelda_format::{Header, Value};
use lapin::types::{AMQPValue, ByteArray, DecimalValue, FieldArray, FieldTable, LongString, ShortString};

/// A value as a field. A number that has no type in AMQP becomes text, a short string a long one.
pub(super) fn field(value: &Value) -> AMQPValue {
    match value {
        Value::Bytes(bytes) => AMQPValue::ByteArray(ByteArray::from(bytes.as_ref())),
        Value::Text(text) | Value::ShortString(text) => AMQPValue::LongString(text.as_str().into()),
        Value::LongString(bytes) => AMQPValue::LongString(LongString::from(bytes.as_ref())),
        Value::Bool(value) => AMQPValue::Boolean(*value),
        Value::I8(value) => AMQPValue::ShortShortInt(*value),
        Value::U8(value) => AMQPValue::ShortShortUInt(*value),
        Value::I16(value) => AMQPValue::ShortInt(*value),
        Value::U16(value) => AMQPValue::ShortUInt(*value),
        Value::I32(value) => AMQPValue::LongInt(*value),
        Value::U32(value) => AMQPValue::LongUInt(*value),
        Value::I64(value) => AMQPValue::LongLongInt(*value),
        Value::U64(value) => match i64::try_from(*value) {
            Ok(value) => AMQPValue::LongLongInt(value),
            Err(_) => AMQPValue::LongString(value.to_string().into()),
        },
        Value::F32(value) => AMQPValue::Float(*value),
        Value::F64(value) => AMQPValue::Double(*value),
        Value::Decimal { scale, value } => {
            AMQPValue::DecimalValue(DecimalValue { scale: *scale, value: *value })
        }
        Value::Timestamp(seconds) => AMQPValue::Timestamp(*seconds),
        Value::Void => AMQPValue::Void,
        Value::Table(headers) => {
            let mut table = FieldTable::default();
            headers.iter().for_each(|header| insert(&mut table, &header.name, &header.value));
            AMQPValue::FieldTable(table)
        }
        Value::Array(values) => {
            AMQPValue::FieldArray(FieldArray::from(values.iter().map(field).collect::<Vec<_>>()))
        }
    }
}

/// Adds a header. A table has each name once: the first of a name that repeats stays, since that is the one that is found.
pub(super) fn insert(table: &mut FieldTable, name: &str, value: &Value) {
    if let Ok(name) = ShortString::try_new(name)
        && !table.contains_key(name.as_str())
    {
        table.insert(name, field(value));
    }
}

/// A field as a value.
pub(super) fn value(field: &AMQPValue) -> Value {
    match field {
        AMQPValue::Boolean(value) => Value::Bool(*value),
        AMQPValue::ShortShortInt(value) => Value::I8(*value),
        AMQPValue::ShortShortUInt(value) => Value::U8(*value),
        AMQPValue::ShortInt(value) => Value::I16(*value),
        AMQPValue::ShortUInt(value) => Value::U16(*value),
        AMQPValue::LongInt(value) => Value::I32(*value),
        AMQPValue::LongUInt(value) => Value::U32(*value),
        AMQPValue::LongLongInt(value) => Value::I64(*value),
        AMQPValue::Float(value) => Value::F32(*value),
        AMQPValue::Double(value) => Value::F64(*value),
        AMQPValue::DecimalValue(value) => Value::Decimal { scale: value.scale, value: value.value },
        AMQPValue::ShortString(text) => Value::Text(text.as_str().to_owned()),
        AMQPValue::LongString(bytes) => match std::str::from_utf8(bytes.as_bytes()) {
            Ok(text) => Value::Text(text.to_owned()),
            Err(_) => Value::LongString(Bytes::copy_from_slice(bytes.as_bytes())),
        },
        AMQPValue::FieldArray(values) => Value::Array(values.as_slice().iter().map(value).collect()),
        AMQPValue::Timestamp(seconds) => Value::Timestamp(*seconds),
        AMQPValue::FieldTable(table) => Value::Table(
            table.inner().iter().map(|(name, field)| Header::new(name.as_str(), value(field))).collect(),
        ),
        AMQPValue::ByteArray(bytes) => Value::Bytes(Bytes::copy_from_slice(bytes.as_slice())),
        AMQPValue::Void => Value::Void,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_of_a_field_comes_back() {
        let table = vec![Header::new("a", Value::I32(1)), Header::new("b", Value::Table(Vec::new()))];
        for kept in [
            Value::Bytes(Bytes::from_static(b"\0\xff")),
            Value::Text("text".to_owned()),
            Value::LongString(Bytes::from_static(b"\xff")),
            Value::Bool(true),
            Value::I8(-1),
            Value::U8(255),
            Value::I16(-2),
            Value::U16(65_535),
            Value::I32(-3),
            Value::U32(u32::MAX),
            Value::I64(i64::MIN),
            Value::F32(1.5),
            Value::F64(-2.5),
            Value::Decimal { scale: 2, value: 314 },
            Value::Timestamp(7),
            Value::Void,
            Value::Table(table),
            Value::Array(vec![Value::Void, Value::Array(Vec::new())]),
        ] {
            assert_eq!(value(&field(&kept)), kept);
        }
    }

    #[test]
    fn what_has_no_type_there_becomes_the_nearest() {
        assert_eq!(value(&field(&Value::U64(5))), Value::I64(5));
        assert_eq!(value(&field(&Value::U64(u64::MAX))), Value::Text(u64::MAX.to_string()));
        assert_eq!(value(&field(&Value::ShortString("s".to_owned()))), Value::Text("s".to_owned()));
    }
}
