//! Values that several verbs take: owns how each is read, guarantees that what is wrong is said before a request is
//! made, never asks the server.

use std::time::{Duration, SystemTime};

use kelda_client::{Bound, StartAt, StreamName, Timestamp};
use kelda_server::config::Bytes;
use kelda_server::{duration, http::offset, time};

/// A place in a stream at which something ends, as it was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edge {
    /// Before this offset.
    Offset(u64),
    /// Before the first record at or after this time.
    Time(Timestamp),
    /// Before the first record of the last so long.
    Ago(Duration),
}

/// The name of a stream.
pub fn name(text: &str) -> Result<String, String> {
    StreamName::parse(text).map(|name| name.as_str().to_owned()).map_err(|error| error.to_string())
}

/// Where a read starts.
pub fn start(text: &str) -> Result<StartAt, String> {
    match text {
        "first" => Ok(StartAt::First),
        "last" => Ok(StartAt::Last),
        "next" => Ok(StartAt::Next),
        _ => match edge(text) {
            Ok(Edge::Offset(offset)) => Ok(StartAt::Offset(offset)),
            Ok(Edge::Time(time)) => Ok(StartAt::Time(time)),
            Ok(Edge::Ago(back)) => Ok(StartAt::Back(back)),
            Err(_) => Err(format!("expected first, last, next, {EDGES}")),
        },
    }
}

/// Where a read or a trim ends.
pub fn edge(text: &str) -> Result<Edge, String> {
    if let Ok(offset) = offset::parse(text) {
        return Ok(Edge::Offset(offset.0));
    }
    if let Ok(time) = time::parse(text) {
        return Ok(Edge::Time(time));
    }
    duration::parse(text).map(Edge::Ago).map_err(|_| format!("expected {EDGES}"))
}

const EDGES: &str = "an offset, an RFC 3339 time such as 2026-01-31T12:00:00Z, or a duration back such as 1h";

/// An RFC 3339 time, in milliseconds.
pub fn rfc3339(text: &str) -> Result<SystemTime, String> {
    time::parse(text).map(|time| SystemTime::UNIX_EPOCH + Duration::from_millis(time.0))
}

/// A duration of at least a millisecond.
pub fn age(text: &str) -> Result<String, String> {
    match duration::parse_ms(text)? {
        0 => Err("a limit is at least 1ms".to_owned()),
        _ => Ok(text.to_owned()),
    }
}

/// A number of bytes, perhaps with a unit, at least one.
pub fn bytes(text: &str) -> Result<u64, String> {
    match text.parse::<Bytes>()?.0 {
        0 => Err("a limit is at least 1 byte".to_owned()),
        bytes => Ok(bytes),
    }
}

/// A limit of age, or none.
pub fn age_or_none(text: &str) -> Result<Bound<String>, String> {
    bound(text, age)
}

/// A limit of bytes, or none.
pub fn bytes_or_none(text: &str) -> Result<Bound<u64>, String> {
    bound(text, bytes)
}

fn bound<T>(text: &str, read: fn(&str) -> Result<T, String>) -> Result<Bound<T>, String> {
    if text == "none" {
        return Ok(Bound::None);
    }
    read(text).map(Bound::At).map_err(|error| format!("{error}; or none"))
}

#[cfg(test)]
mod tests;
