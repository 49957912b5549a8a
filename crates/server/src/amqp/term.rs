//! Values as Erlang writes them.
//!
//! Owns the words for values in errors: clients show them to people, who look for them in what they know of RabbitMQ. Pure.

use kelda_format::Value;

use super::queue::arguments::{integer, type_name};

/// From here on, numbers always have an exponent: 2^53.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Bytes as a binary: text where all of it can be printed, numbers otherwise.
pub fn binary(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "<<>>".to_owned();
    }
    match printed(bytes) {
        Some(text) => format!("<<\"{text}\">>"),
        None => format!("<<{}>>", numbers(bytes)),
    }
}

/// Bytes as a list of characters.
pub fn list(bytes: &[u8]) -> String {
    match printed(bytes) {
        Some(text) if !bytes.is_empty() => format!("\"{text}\""),
        _ => format!("[{}]", numbers(bytes)),
    }
}

fn numbers(bytes: &[u8]) -> String {
    bytes.iter().map(u8::to_string).collect::<Vec<_>>().join(",")
}

/// Bytes with escapes, if all of them can be printed.
fn printed(bytes: &[u8]) -> Option<String> {
    if !bytes.iter().all(|byte| matches!(byte, 8..=13 | 27 | 32..=126 | 160..=255)) {
        return None;
    }
    let mut text = Vec::with_capacity(bytes.len());
    for byte in bytes {
        let escaped = match byte {
            8 => b'b',
            9 => b't',
            10 => b'n',
            11 => b'v',
            12 => b'f',
            13 => b'r',
            27 => b'e',
            b'"' | b'\\' => *byte,
            other => {
                text.push(*other);
                continue;
            }
        };
        text.extend([b'\\', escaped]);
    }
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// The shortest digits that mean the number, with an exponent where that is shorter.
fn float(value: f64) -> String {
    let written = format!("{value:e}");
    let Some((mantissa, exponent)) = written.split_once('e') else { return written };
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let digits = mantissa.replace('.', "");
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (length, point) = (i32::try_from(digits.len()).unwrap_or(i32::MAX), exponent + 1);
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    // What an exponent takes: its mark, its digits, and the zero behind the point of a single digit.
    let cost = i32::try_from(exponent.to_string().len()).unwrap_or(0) + if length == 1 { 3 } else { 2 };
    let plain = match point {
        ..=0 if point == 0 || 2 - point <= cost => format!("0.{}{digits}", zeros(-point)),
        1.. if point < length => {
            let (whole, rest) = digits.split_at(usize::try_from(point).unwrap_or(0));
            format!("{whole}.{rest}")
        }
        1.. if point - length + 2 <= cost && value.abs() < EXACT => {
            format!("{digits}{}.0", zeros(point - length))
        }
        _ => {
            let (first, rest) = digits.split_at(1);
            format!("{first}.{}e{exponent}", if rest.is_empty() { "0" } else { rest })
        }
    };
    format!("{sign}{plain}")
}

/// A value with its marks.
pub fn value(value: &Value) -> String {
    match value {
        Value::Text(text) | Value::ShortString(text) => binary(text.as_bytes()),
        Value::LongString(bytes) | Value::Bytes(bytes) => binary(bytes),
        Value::Bool(value) => value.to_string(),
        Value::F32(value) => float((*value).into()),
        Value::F64(value) => float(*value),
        Value::Decimal { scale, value } => format!("{{{scale},{value}}}"),
        Value::Timestamp(seconds) => seconds.to_string(),
        Value::Void => "undefined".to_owned(),
        Value::Table(list) => {
            let inner = list.iter().map(|header| {
                let (name, kind) = (binary(header.name.as_bytes()), type_name(&header.value));
                format!("{{{name},{kind},{}}}", self::value(&header.value))
            });
            format!("[{}]", inner.collect::<Vec<_>>().join(","))
        }
        Value::Array(list) => {
            let inner = list.iter().map(|item| format!("{{{},{}}}", type_name(item), self::value(item)));
            format!("[{}]", inner.collect::<Vec<_>>().join(","))
        }
        number => integer(number).map_or_else(String::new, |number| number.to_string()),
    }
}

/// A value as it stands between quotes: text is as it is.
pub fn plain(value: &Value) -> String {
    match value {
        Value::Text(text) | Value::ShortString(text) => text.clone(),
        Value::LongString(bytes) | Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => self::value(other),
    }
}

/// How an argument differs from the one that is in force: its text with the name of its type, if there is one.
pub fn inequivalent(name: &str, of: &str, has: Option<(&str, &str)>, wants: Option<&Value>) -> String {
    let words = match (has, wants) {
        (Some((has, _)), Some(Value::Void)) => format!("received none but current is '{has}'"),
        (Some((has, _)), Some(wants)) => format!("received '{}' but current is '{has}'", plain(wants)),
        (Some((has, kind)), None) => {
            format!("received none but current is the value '{has}' of type '{kind}'")
        }
        (None, wants) => {
            let wants = wants.unwrap_or(&Value::Void);
            let (text, kind) = (plain(wants), type_name(wants));
            format!("received the value '{text}' of type '{kind}' but current is none")
        }
    };
    format!("inequivalent arg '{name}' for {of}: {words}")
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use kelda_format::Header;

    use super::*;

    #[test]
    fn values_are_written_as_erlang_writes_them() {
        for (bytes, text) in [
            (&b""[..], "<<>>"),
            (b"1h", "<<\"1h\">>"),
            (b"1h\n\"\\", "<<\"1h\\n\\\"\\\\\">>"),
            (b"1h\0", "<<49,104,0>>"),
            ("\u{e4}".as_bytes(), "<<\"\u{e4}\">>"),
            ("\u{20ac}".as_bytes(), "<<226,130,172>>"),
        ] {
            assert_eq!(binary(bytes), text);
        }
        assert_eq!((list(b".5\n"), list(b"\0"), list(b"")), ("\".5\\n\"".into(), "[0]".into(), "[]".into()));
        let table = vec![Header::new("a", Value::I32(1)), Header::new("b", Value::Text("x".to_owned()))];
        for (given, text) in [
            (Value::F32(1.5), "1.5"),
            (Value::F64(2.0), "2.0"),
            (Value::Decimal { scale: 1, value: 15 }, "{1,15}"),
            (Value::Void, "undefined"),
            (Value::Bool(true), "true"),
            (Value::Timestamp(7), "7"),
            (Value::Table(table), "[{<<\"a\">>,signedint,1},{<<\"b\">>,longstr,<<\"x\">>}]"),
            (Value::Array(vec![Value::U8(3), Value::Array(Vec::new())]), "[{unsignedbyte,3},{array,[]}]"),
            (Value::Bytes(Bytes::from_static(b"1h")), "<<\"1h\">>"),
        ] {
            assert_eq!(value(&given), text);
        }
        assert_eq!(plain(&Value::Text("1h".to_owned())), "1h");
    }

    #[test]
    fn numbers_have_an_exponent_where_that_is_shorter() {
        for (number, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-1.5, "-1.5"),
            (100.0, "100.0"),
            (1_000.0, "1.0e3"),
            (1_234.5, "1234.5"),
            (1_200.0, "1.2e3"),
            (123_000.0, "1.23e5"),
            (0.1, "0.1"),
            (0.0012, "0.0012"),
            (0.0001, "0.0001"),
            (0.00012, "1.2e-4"),
            (9_007_199_254_740_992.0, "9.007199254740992e15"),
            (1e100, "1.0e100"),
        ] {
            assert_eq!(float(number), text);
        }
    }

    #[test]
    fn differences_are_told_with_types() {
        let told = |has, wants: Option<Value>| inequivalent("a", "queue 'q'", has, wants.as_ref());
        let start = "inequivalent arg 'a' for queue 'q': received";
        assert_eq!(
            told(None, Some(Value::I8(5))),
            format!("{start} the value '5' of type 'byte' but current is none")
        );
        assert_eq!(
            told(Some(("1h", "longstr")), None),
            format!("{start} none but current is the value '1h' of type 'longstr'")
        );
        assert_eq!(
            told(Some(("1h", "longstr")), Some(Value::Void)),
            format!("{start} none but current is '1h'")
        );
        assert_eq!(
            told(Some(("5", "long")), Some(Value::F64(5.0))),
            format!("{start} '5.0' but current is '5'")
        );
    }
}
