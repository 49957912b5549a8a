//! Whether a message is for a binding.
//!
//! Owns the patterns of topic exchanges and the arguments of headers exchanges. Pure.

use kelda_format::Value;

use crate::amqp::queue::arguments::type_name;
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

/// Numbers are equal whatever their widths.
fn equal(a: &Value, b: &Value) -> bool {
    use crate::amqp::queue::arguments::integer;
    match (integer(a), integer(b)) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
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
