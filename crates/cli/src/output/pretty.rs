//! Records for people: owns the layout and the colours, guarantees that no record can send control characters to a
//! terminal, never meant for programs.

use std::fmt::Write as _;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use kelda_client::StoredRecord;
use serde::de::IgnoredAny;
use serde_json::Value;

/// How much of a body that is not text is shown.
const SHOWN_BYTES: usize = 64;

/// Colours and time zone.
pub struct Style {
    colours: bool,
    zone: TimeZone,
}

impl Style {
    /// Colours on a terminal, unless `NO_COLOR` is set or the terminal is a dumb one.
    pub fn new(terminal: bool) -> Style {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let dumb = set("TERM").is_some_and(|term| term == "dumb");
        Style { colours: terminal && !dumb && set("NO_COLOR").is_none(), zone: TimeZone::system() }
    }

    /// A record: one line with offset, time and headers, then the body, indented.
    pub fn record(&self, stored: &StoredRecord) -> String {
        let offset = self.paint("1", &stored.offset.0.to_string());
        let mut out = format!("{offset}  {}", self.paint("36", &self.time(stored.timestamp.0)));
        if let Some(time) = stored.record.producer_timestamp {
            let _ = write!(out, "  {} {}", self.paint("2", "produced"), self.time(time.0));
        }
        for header in stored.record.headers.iter() {
            let header = kelda_server::http::json::header(&header);
            let _ = write!(out, "  {}", self.header(&header));
        }
        out.push('\n');
        for line in body(&stored.record.body).lines() {
            let _ = writeln!(out, "    {line}");
        }
        out
    }

    fn time(&self, ms: u64) -> String {
        let time = i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
        let Some(time) = time else { return format!("{ms} ms") };
        time.to_zoned_datetime(self.zone.clone()).strftime("%Y-%m-%d %H:%M:%S.%3f%:z").to_string()
    }

    /// `name=value`, the type of a value that is not text before it.
    fn header(&self, header: &Value) -> String {
        let name = self.paint("32", &harmless(header["name"].as_str().unwrap_or_default()));
        match (header["type"].as_str(), &header["value"]) {
            (None, Value::String(text)) => format!("{name}={}", harmless(text)),
            (kind, value) => format!("{name}={}:{value}", kind.unwrap_or("text")),
        }
    }

    fn paint(&self, code: &str, text: &str) -> String {
        if self.colours { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// A body as lines: JSON objects and lists indented, text as it is, all else as an extract.
fn body(body: &[u8]) -> String {
    let Ok(text) = std::str::from_utf8(body) else { return extract(body) };
    let is_nested =
        text.trim_start().starts_with(['{', '[']) && serde_json::from_str::<IgnoredAny>(text).is_ok();
    harmless(&if is_nested { indented(text) } else { text.to_owned() })
}

/// Valid JSON with a line an element; numbers and the order of fields stay as they were written.
fn indented(json: &str) -> String {
    let (mut out, mut depth, mut in_text, mut escaped) =
        (String::with_capacity(2 * json.len()), 0, false, false);
    let mut characters = json.chars().peekable();
    while let Some(character) = characters.next() {
        if in_text {
            out.push(character);
            in_text = escaped || character != '"';
            escaped = !escaped && character == '\\';
            continue;
        }
        match character {
            ' ' | '\n' | '\t' | '\r' => {}
            '{' | '[' => {
                out.push(character);
                while characters.next_if(char::is_ascii_whitespace).is_some() {}
                match characters.next_if(|next| matches!(next, '}' | ']')) {
                    Some(close) => out.push(close),
                    None => {
                        depth += 1;
                        new_line(&mut out, depth);
                    }
                }
            }
            '}' | ']' => {
                depth -= 1;
                new_line(&mut out, depth);
                out.push(character);
            }
            ',' => {
                out.push(character);
                new_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            '"' => {
                in_text = true;
                out.push(character);
            }
            other => out.push(other),
        }
    }
    out
}

fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

fn extract(body: &[u8]) -> String {
    let mut out = format!("{} bytes:", body.len());
    for byte in body.iter().take(SHOWN_BYTES) {
        let _ = write!(out, " {byte:02x}");
    }
    if body.len() > SHOWN_BYTES {
        out.push_str(" …");
    }
    out
}

/// The text with control characters as escapes, line ends and tabs aside.
fn harmless(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => out.push(character),
            character if character.is_control() => out.extend(character.escape_default()),
            character => out.push(character),
        }
    }
    out
}

#[cfg(test)]
mod tests;
