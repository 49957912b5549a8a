//! The query of a read: where it starts, where it ends, how it waits, in which form.
//!
//! Owns the parameters `offset from tail until count bytes live cursor as`. Guarantees that at most one start is
//! given, and that a live read has one. Never resolves a start: that needs the stream.

use kelda_format::ids::{Offset, Timestamp};

use super::{Parameters, QueryError, number};
use crate::{duration, http::offset, time};

/// Where a read starts, as asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// The first record held.
    First,
    /// The last record and onward.
    Last,
    /// After the last record: only new ones.
    Next,
    /// This offset.
    Offset(Offset),
    /// The first record at or after a time.
    Time(Timestamp),
    /// The first record at or after now less this many milliseconds.
    Ago(u64),
    /// So many records before the tail, or the first held.
    Tail(u64),
}

/// Where a read ends, as asked for; the bound itself is not part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Before this offset.
    Offset(Offset),
    /// Before the first record at or after this time.
    Time(Timestamp),
}

/// How a read waits for more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Live {
    /// One reply, as soon as there is something.
    LongPoll,
    /// Server-sent events.
    Sse,
}

/// A read, as asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadQuery {
    /// Where it starts; absent means first, by a plain URL that caches may not keep.
    pub start: Option<Start>,
    /// Where it ends.
    pub until: Option<Until>,
    /// Most records of the whole reply, at least 1.
    pub count: Option<u64>,
    /// Most bytes of the records of the whole reply, at least 1: their bodies, headers and a few bytes for each. One
    /// record is always given.
    pub bytes: Option<u64>,
    /// Whether and how it waits.
    pub live: Option<Live>,
    /// The cursor of the reply before.
    pub cursor: Option<u64>,
    /// `?as=records`: records with their offsets, times and headers, instead of plain bodies.
    pub as_records: bool,
}

impl ReadQuery {
    /// Types the parameters of a read.
    ///
    /// # Errors
    /// The first parameter that is wrong, or two starts, or a live read without one.
    pub fn new(parameters: &Parameters) -> Result<ReadQuery, QueryError> {
        let start = start(parameters)?;
        let live = parameters.parsed("live", |text| match text {
            "long-poll" => Ok(Live::LongPoll),
            "sse" => Ok(Live::Sse),
            _ => Err(format!("`{}` is not a way to wait: write long-poll or sse", offset::excerpt(text))),
        })?;
        if live.is_some() && start.is_none() {
            return Err(QueryError::new("offset", "a live read needs a start: give offset, from or tail"));
        }
        let as_records = parameters.parsed("as", |text| match text {
            "records" => Ok(true),
            _ => Err(format!("`{}` is not a form: write records, or leave it out", offset::excerpt(text))),
        })?;
        Ok(ReadQuery {
            start,
            until: parameters.parsed("until", until)?,
            count: parameters.parsed("count", |text| number(text, 1, u64::MAX))?,
            bytes: parameters.parsed("bytes", |text| number(text, 1, u64::MAX))?,
            live,
            cursor: parameters.parsed("cursor", |text| number(text, 0, u64::MAX / 2))?,
            as_records: as_records.unwrap_or(false),
        })
    }

    /// Whether the same URL means the same records tomorrow, so that a cache may keep the reply.
    #[must_use]
    pub fn pinned(&self) -> bool {
        matches!(self.start, Some(Start::Offset(_) | Start::First))
    }
}

fn start(parameters: &Parameters) -> Result<Option<Start>, QueryError> {
    let given = [
        ("offset", parameters.parsed("offset", from_offset)?),
        ("from", parameters.parsed("from", from)?),
        ("tail", parameters.parsed("tail", |text| number(text, 0, u64::MAX).map(Start::Tail))?),
    ];
    let mut starts = given.into_iter().filter_map(|(name, start)| start.map(|start| (name, start)));
    match (starts.next(), starts.next()) {
        (Some((first, _)), Some((second, _))) => {
            Err(QueryError::new(second, format!("`{first}` is given too: give one start")))
        }
        (first, _) => Ok(first.map(|(_, start)| start)),
    }
}

/// `offset=`: the base protocol's two words, or an offset.
fn from_offset(text: &str) -> Result<Start, String> {
    match text {
        "-1" => Ok(Start::First),
        "now" => Ok(Start::Next),
        _ => offset::parse(text).map(Start::Offset).map_err(|detail| format!("{detail}, or -1, or now")),
    }
}

/// `from=`: a word, a time, or a duration back from now.
fn from(text: &str) -> Result<Start, String> {
    match text {
        "first" => Ok(Start::First),
        "last" => Ok(Start::Last),
        "next" => Ok(Start::Next),
        _ => time::parse(text).map(Start::Time).or_else(|_| duration::parse_ms(text).map(Start::Ago)).map_err(|_| {
            format!(
                "`{}` is not a start: write first, last, next, an RFC 3339 time, or a duration back from now such as 1h",
                offset::excerpt(text)
            )
        }),
    }
}

fn until(text: &str) -> Result<Until, String> {
    offset::parse(text).map(Until::Offset).or_else(|_| time::parse(text).map(Until::Time)).map_err(|_| {
        format!("`{}` is not an end: write an offset or an RFC 3339 time", offset::excerpt(text))
    })
}
