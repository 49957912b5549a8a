//! Header values as JSON.
//!
//! Owns the names of the types. Text has no `type`; every other value is `{"type": …, "value": …}`. On input a value
//! without a type may also be a truth value, a number or null, and gets the type that holds it. Never guesses between
//! bytes and text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use kelda_format::header::{Header, Value};
use serde_json::{Map, Number, Value as Json, json};

/// The name of a value's type and its JSON.
pub(super) fn to_json(value: &Value) -> (Option<&'static str>, Json) {
    let (name, json) = match value {
        Value::Text(text) => return (None, Json::from(text.as_str())),
        Value::Bytes(bytes) => ("bytes", Json::from(STANDARD.encode(bytes))),
        Value::LongString(bytes) => ("long_string", Json::from(STANDARD.encode(bytes))),
        Value::ShortString(text) => ("short_string", Json::from(text.as_str())),
        Value::Bool(value) => ("bool", Json::from(*value)),
        Value::I8(value) => ("i8", Json::from(*value)),
        Value::U8(value) => ("u8", Json::from(*value)),
        Value::I16(value) => ("i16", Json::from(*value)),
        Value::U16(value) => ("u16", Json::from(*value)),
        Value::I32(value) => ("i32", Json::from(*value)),
        Value::U32(value) => ("u32", Json::from(*value)),
        Value::I64(value) => ("i64", Json::from(value.to_string())),
        Value::U64(value) => ("u64", Json::from(value.to_string())),
        Value::F32(value) => ("f32", float(f64::from(*value))),
        Value::F64(value) => ("f64", float(*value)),
        Value::Decimal { scale, value } => ("decimal", json!({"scale": scale, "value": value})),
        Value::Timestamp(seconds) => ("timestamp", Json::from(seconds.to_string())),
        Value::Void => ("void", Json::Null),
        Value::Table(headers) => ("table", headers.iter().map(header).collect()),
        Value::Array(values) => ("array", values.iter().map(element).collect()),
    };
    (Some(name), json)
}

/// A header as the object that stands for it.
#[must_use]
pub fn header(header: &Header) -> Json {
    let mut object = Map::new();
    object.insert("name".to_owned(), Json::from(header.name.as_str()));
    put(&mut object, &header.value);
    Json::Object(object)
}

fn element(value: &Value) -> Json {
    let mut object = Map::new();
    put(&mut object, value);
    Json::Object(object)
}

fn put(object: &mut Map<String, Json>, value: &Value) {
    let (name, json) = to_json(value);
    if let Some(name) = name {
        object.insert("type".to_owned(), Json::from(name));
    }
    object.insert("value".to_owned(), json);
}

/// JSON has no words for what is not a finite number.
fn float(value: f64) -> Json {
    Number::from_f64(value).map_or_else(|| Json::from(value.to_string()), Json::Number)
}

/// The value that a type name, or none, and a JSON value stand for.
///
/// # Errors
/// A sentence that says what would be right.
pub(super) fn from_json(name: Option<&str>, json: Json) -> Result<Value, String> {
    let Some(name) = name else { return untyped(json) };
    Ok(match name {
        "text" => Value::Text(text(name, json)?),
        "bytes" => Value::Bytes(base64(name, &json)?),
        "long_string" => Value::LongString(base64(name, &json)?),
        "short_string" => Value::ShortString(text(name, json)?),
        "bool" => Value::Bool(json.as_bool().ok_or_else(|| wrong(name, "true or false", &json))?),
        "i8" => Value::I8(integer(name, &json)?),
        "u8" => Value::U8(integer(name, &json)?),
        "i16" => Value::I16(integer(name, &json)?),
        "u16" => Value::U16(integer(name, &json)?),
        "i32" => Value::I32(integer(name, &json)?),
        "u32" => Value::U32(integer(name, &json)?),
        "i64" => Value::I64(integer(name, &json)?),
        "u64" => Value::U64(integer(name, &json)?),
        #[allow(clippy::cast_possible_truncation, reason = "the client asks for the shorter type")]
        "f32" => Value::F32(real(name, &json)? as f32),
        "f64" => Value::F64(real(name, &json)?),
        "decimal" => decimal(&json)?,
        "timestamp" => Value::Timestamp(integer(name, &json)?),
        "void" if json.is_null() => Value::Void,
        "void" => return Err(wrong(name, "null", &json)),
        "table" => Value::Table(list(name, json, header_from)?),
        "array" => Value::Array(list(name, json, |json| Ok(parts(json)?.1))?),
        _ => return Err(format!("`{}` is not a type of header values", crate::http::offset::excerpt(name))),
    })
}

fn untyped(json: Json) -> Result<Value, String> {
    Ok(match json {
        Json::String(text) => Value::Text(text),
        Json::Bool(value) => Value::Bool(value),
        Json::Null => Value::Void,
        Json::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(value), _, _) => Value::I64(value),
            (_, Some(value), _) => Value::U64(value),
            (_, _, Some(value)) => Value::F64(value),
            _ => return Err(format!("{number} is not a number that a header can hold")),
        },
        Json::Array(_) | Json::Object(_) => {
            return Err(
                "a list or an object as a header value needs a type: array, table or decimal".to_owned()
            );
        }
    })
}

fn header_from(json: Json) -> Result<Header, String> {
    let (name, value) = parts(json)?;
    Ok(Header { name: name.ok_or("an element of a table needs a name")?, value })
}

/// Name and value of an object `{"name": …, "type": …, "value": …}`.
fn parts(json: Json) -> Result<(Option<String>, Value), String> {
    let Json::Object(mut object) = json else { return Err(wrong("element", "an object", &json)) };
    let mut word = |key: &str| object.remove(key).map(|json| text(key, json)).transpose();
    let (name, kind) = (word("name")?, word("type")?);
    let value = object.remove("value").unwrap_or(Json::Null);
    match object.keys().next() {
        Some(key) => Err(format!("`{}` is not a field of a header", crate::http::offset::excerpt(key))),
        None => Ok((name, from_json(kind.as_deref(), value)?)),
    }
}

fn list<T>(name: &str, json: Json, each: impl FnMut(Json) -> Result<T, String>) -> Result<Vec<T>, String> {
    match json {
        Json::Array(list) => list.into_iter().map(each).collect(),
        other => Err(wrong(name, "a list", &other)),
    }
}

fn text(name: &str, json: Json) -> Result<String, String> {
    match json {
        Json::String(text) => Ok(text),
        other => Err(wrong(name, "a string", &other)),
    }
}

fn base64(name: &str, json: &Json) -> Result<Bytes, String> {
    let decoded = json.as_str().and_then(|text| STANDARD.decode(text).ok());
    decoded.map(Bytes::from).ok_or_else(|| wrong(name, "a string in standard base64", json))
}

/// A whole number, as a JSON number or as decimal digits in a string.
fn integer<T: TryFrom<i128>>(name: &str, json: &Json) -> Result<T, String> {
    let value = match json {
        Json::Number(number) => number.as_i64().map(i128::from).or(number.as_u64().map(i128::from)),
        Json::String(text) => text.parse::<i128>().ok(),
        _ => None,
    };
    value
        .and_then(|value| T::try_from(value).ok())
        .ok_or_else(|| wrong(name, "a whole number in its range", json))
}

fn real(name: &str, json: &Json) -> Result<f64, String> {
    let value = match json {
        Json::Number(number) => number.as_f64(),
        Json::String(text) if matches!(text.as_str(), "NaN" | "inf" | "-inf") => text.parse().ok(),
        _ => None,
    };
    value.ok_or_else(|| wrong(name, "a number, \"NaN\", \"inf\" or \"-inf\"", json))
}

fn decimal(json: &Json) -> Result<Value, String> {
    let field =
        |key: &str| json.get(key).ok_or_else(|| wrong("decimal", "{\"scale\": …, \"value\": …}", json));
    Ok(Value::Decimal {
        scale: integer("decimal", field("scale")?)?,
        value: integer("decimal", field("value")?)?,
    })
}

fn wrong(name: &str, right: &str, json: &Json) -> String {
    format!("{} is not right for {name}: write {right}", crate::http::offset::excerpt(&json.to_string()))
}
