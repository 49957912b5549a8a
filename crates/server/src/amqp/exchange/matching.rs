//! Whether a message is for a binding.
//!
//! Owns the patterns of topic exchanges and the arguments of headers exchanges. Pure.

use kelda_format::Value;

use crate::amqp::queue::arguments::{integer, type_name};
use crate::amqp::reply::{self, Refusal};
use crate::amqp::term;
use crate::amqp::wire::Table;

/// The argument that says how headers are compared.
const HOW: &str = "x-match";

/// Whether a routing key fits a pattern: words between dots, `*` for one word, `#` for any number of them.
pub fn topic(pattern: &[u8], key: &[u8]) -> bool {
    let (pattern, key) = (words(pattern), words(key));
    // Which lengths of the pattern's beginning fit the key's beginning that was looked at.
    let mut fits = vec![false; pattern.len() + 1];
    fits[0] = true;
    for at in 0..pattern.len() {
        fits[at + 1] = fits[at] && pattern[at] == b"#";
    }
    for word in key {
        let mut next = vec![false; pattern.len() + 1];
        for at in 0..pattern.len() {
            next[at + 1] = match pattern[at] {
                b"#" => fits[at + 1] || next[at] || fits[at],
                b"*" => fits[at],
                same => fits[at] && same == word,
            };
        }
        fits = next;
    }
    fits[pattern.len()]
}

/// Nothing has no words; a dot always stands between two.
fn words(text: &[u8]) -> Vec<&[u8]> {
    if text.is_empty() { Vec::new() } else { text.split(|byte| *byte == b'.').collect() }
}

/// How the headers of a binding are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct How {
    all: bool,
    with_x: bool,
}

/// Reads it from the arguments of a binding.
pub fn how(arguments: &Table) -> Result<How, Refusal> {
    let wrong = |given: &str| {
        let text =
            format!("Invalid x-match field value {given}; expected all, any, all-with-x, or any-with-x");
        reply::precondition_failed(text)
    };
    let (all, with_x) = match arguments.value(HOW) {
        None => (true, false),
        Some(Value::Text(text)) => match text.as_str() {
            "all" => (true, false),
            "any" => (false, false),
            "all-with-x" => (true, true),
            "any-with-x" => (false, true),
            other => return Err(wrong(&term::binary(other.as_bytes()))),
        },
        Some(Value::LongString(bytes)) => return Err(wrong(&term::binary(bytes))),
        Some(other) => {
            let (kind, value) = (type_name(other), term::value(other));
            let text = format!("Invalid x-match field type {kind} (value {value}); expected longstr");
            return Err(reply::precondition_failed(text));
        }
    };
    Ok(How { all, with_x })
}

/// Whether a message with these headers is for a binding with these arguments.
pub fn headers(how: How, arguments: &Table, headers: &Table) -> bool {
    let counted = |name: &str| name != HOW && (how.with_x || !name.starts_with("x-"));
    let mut asked = arguments.0.iter().filter(|header| counted(&header.name));
    let fits = |name: &str, wanted: &Value| match (wanted, headers.value(name)) {
        (_, None) => false,
        // Nothing asks only that the header is there.
        (Value::Void, Some(_)) => true,
        (wanted, Some(has)) => equal(wanted, has),
    };
    if how.all {
        asked.all(|header| fits(&header.name, &header.value))
    } else {
        asked.any(|header| fits(&header.name, &header.value))
    }
}

/// Whether two values are equal as RabbitMQ sees them, which compares numbers with numbers and bytes with bytes whatever their
/// types; only what is inside of tables and arrays has to have the same types.
fn equal(a: &Value, b: &Value) -> bool {
    if let (Some(a), Some(b)) = (Number::of(a), Number::of(b)) {
        return a.equals(b);
    }
    if let (Some(a), Some(b)) = (bytes(a), bytes(b)) {
        return a == b;
    }
    let typed = |a: &Value, b: &Value| type_name(a) == type_name(b) && equal(a, b);
    match (a, b) {
        (Value::Table(a), Value::Table(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.name == b.name && typed(&a.value, &b.value))
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| typed(a, b)),
        (Value::Table(list), Value::Array(items)) | (Value::Array(items), Value::Table(list)) => {
            list.is_empty() && items.is_empty()
        }
        _ => a == b,
    }
}

fn bytes(value: &Value) -> Option<&[u8]> {
    match value {
        Value::Text(text) | Value::ShortString(text) => Some(text.as_bytes()),
        Value::LongString(bytes) | Value::Bytes(bytes) => Some(bytes),
        _ => None,
    }
}

/// The number that a value is.
#[derive(Clone, Copy)]
enum Number {
    Whole(i128),
    Float(f64),
}

impl Number {
    fn of(value: &Value) -> Option<Number> {
        match value {
            Value::F32(value) => Some(Number::Float((*value).into())),
            Value::F64(value) => Some(Number::Float(*value)),
            Value::Timestamp(seconds) => Some(Number::Whole((*seconds).into())),
            other => integer(other).map(Number::Whole),
        }
    }

    #[allow(clippy::float_cmp, reason = "the same number is meant")]
    fn equals(self, other: Number) -> bool {
        match (self, other) {
            (Number::Whole(a), Number::Whole(b)) => a == b,
            (Number::Float(a), Number::Float(b)) => a == b,
            // A cast of what is too large gives the largest number, which no header has.
            (Number::Whole(a), Number::Float(b)) | (Number::Float(b), Number::Whole(a)) => {
                b.fract() == 0.0 && b as i128 == a
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use kelda_format::Header;

    use super::*;

    #[test]
    fn patterns_fit_the_keys_that_they_fit_at_rabbitmq() {
        let keys = ["a", "a.b", "a.b.c", "b", "", "a.", ".a", "a..b", "A.b", "x.a.b"];
        let all: &[&str] = &keys;
        for (pattern, fits) in [
            ("", &[""][..]),
            ("#", all),
            ("#.a.#", &["a", "a.b", "a.b.c", "a.", ".a", "a..b", "x.a.b"]),
            ("#.b", &["a.b", "b", "a..b", "A.b", "x.a.b"]),
            ("*", &["a", "b"]),
            ("*.#", &["a", "a.b", "a.b.c", "b", "a.", ".a", "a..b", "A.b", "x.a.b"]),
            ("*.*", &["a.b", "a.", ".a", "A.b"]),
            ("..", &[]),
            ("a", &["a"]),
            ("a#", &[]),
            ("a.#", &["a", "a.b", "a.b.c", "a.", "a..b"]),
            ("a.*", &["a.b", "a."]),
            ("a.*.c", &["a.b.c"]),
            ("a.b", &["a.b"]),
        ] {
            let found: Vec<&str> =
                keys.into_iter().filter(|key| topic(pattern.as_bytes(), key.as_bytes())).collect();
            assert_eq!(found, fits, "{pattern}");
        }
    }

    #[test]
    fn values_are_equal_whatever_their_types() {
        let text = |text: &str| Value::Text(text.to_owned());
        let raw = |text: &'static str| Value::Bytes(bytes::Bytes::from_static(text.as_bytes()));
        let table = |value: Value| Value::Table(vec![Header::new("a", value)]);
        let empty = || (Value::Table(Vec::new()), Value::Array(Vec::new()));
        for (a, b) in [
            (Value::I32(1), Value::I64(1)),
            (Value::I32(1), Value::F64(1.0)),
            (Value::F32(1.5), Value::F64(1.5)),
            (Value::Timestamp(1), Value::F32(1.0)),
            (Value::Timestamp(1), Value::U8(1)),
            (Value::I8(0), Value::F64(-0.0)),
            (text("1"), raw("1")),
            empty(),
            (table(Value::I32(1)), table(Value::I32(1))),
            (Value::Array(vec![text("x")]), Value::Array(vec![text("x")])),
        ] {
            assert!(equal(&a, &b) && equal(&b, &a), "{a:?} {b:?}");
        }
        for (a, b) in [
            (Value::I32(1), Value::F64(1.5)),
            (Value::I64(i64::MAX), Value::F64(9_223_372_036_854_775_808.0)),
            (Value::I32(1), text("1")),
            (Value::I32(1), Value::Bool(true)),
            (Value::F64(f64::NAN), Value::I32(0)),
            (Value::Void, Value::Bool(false)),
            (table(Value::I32(1)), table(Value::I64(1))),
            (table(Value::I32(1)), Value::Array(vec![Value::I32(1)])),
            (Value::Array(vec![text("x")]), Value::Array(vec![raw("x")])),
        ] {
            assert!(!equal(&a, &b) && !equal(&b, &a), "{a:?} {b:?}");
        }
    }

    #[test]
    fn headers_are_compared_as_the_binding_says() {
        let table = |list: &[(&str, Value)]| {
            Table(list.iter().map(|(name, value)| Header::new(*name, value.clone())).collect())
        };
        let one = ("a", Value::I32(1));
        let message = table(&[("a", Value::I64(1)), ("b", Value::Bool(true)), ("x-c", Value::Void)]);
        for (x_match, more, fits) in [
            ("all", vec![one.clone()], true),
            ("all", vec![one.clone(), ("b", Value::Bool(false))], false),
            ("any", vec![one.clone(), ("b", Value::Bool(false))], true),
            ("any", vec![], false),
            ("all", vec![], true),
            ("all", vec![("b", Value::Void)], true),
            ("all", vec![("d", Value::Void)], false),
            ("all", vec![("x-d", Value::I8(1))], true),
            ("all-with-x", vec![("x-d", Value::I8(1))], false),
        ] {
            let mut arguments = vec![(HOW, Value::Text(x_match.to_owned()))];
            arguments.extend(more);
            let arguments = table(&arguments);
            assert_eq!(headers(how(&arguments).unwrap(), &arguments, &message), fits, "{arguments:?}");
        }
        let refused = how(&table(&[(HOW, Value::Text("most".to_owned()))])).unwrap_err();
        assert!(refused.text.contains("<<\"most\">>; expected all, any"), "{}", refused.text);
    }
}
