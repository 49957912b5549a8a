//! Reading records from JSON.
//!
//! Guarantees that no more is held than the body, the batch that is built from it and one record: records go into the
//! batch as they are met.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use kelda_format::batch::{Batch, BatchBuilder};
use kelda_format::header::{Header, Headers};
use kelda_format::ids::Timestamp;
use kelda_format::limits::{LimitError, MAX_HEADER_BLOCK_BYTES};
use kelda_format::record::Record;
use serde::Deserialize;
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::object::{Named, Object};
use super::value;

/// Least bytes of an encoded header, so that a list of them is bounded before it is encoded.
const LEAST_HEADER_BYTES: usize = 3;
/// Most bytes of one header value as JSON: what the longest value needs when every byte of it is escaped.
const MAX_VALUE_TEXT_BYTES: usize = 16 * MAX_HEADER_BLOCK_BYTES;
/// What stands for a record, placed or not.
const RECORD: &str = r#"a record, which is an object like {"body":"hello"}"#;

/// Why a body is not a batch of records.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeFault {
    /// It is not in the format; the sentence says where.
    #[error("{0}")]
    Malformed(String),
    /// It is beyond a limit.
    #[error(transparent)]
    Limit(#[from] LimitError),
}

/// Reads a batch from a body.
///
/// # Errors
/// [`DecodeFault`]: the first thing that is wrong, with line and column.
pub fn decode(body: &[u8]) -> Result<Batch, DecodeFault> {
    let mut batch = Building { builder: BatchBuilder::new(), limit: None };
    let mut json = serde_json::Deserializer::from_slice(body);
    let walked = (&mut json).deserialize_map(Outer(&mut batch)).and_then(|()| json.end());
    match (batch.limit, walked) {
        (Some(limit), _) => Err(limit.into()),
        (None, Err(error)) => Err(DecodeFault::Malformed(error.to_string())),
        (None, Ok(())) => Ok(batch.builder.finish()),
    }
}

/// Reads one record as [`super::put_record`] writes it: `offset` and `timestamp` may be there and are not used, since
/// the owner of a stream gives both.
///
/// # Errors
/// [`DecodeFault`]: the first thing that is wrong, with its column.
pub fn decode_record(line: &[u8]) -> Result<Record, DecodeFault> {
    let Object(placed) = serde_json::from_slice::<Object<PlacedText<'_>>>(line).map_err(|error| {
        DecodeFault::Malformed(error.to_string().replace(" at line 1 column", " at column"))
    })?;
    for (name, value) in [("offset", &placed.offset), ("timestamp", &placed.timestamp)] {
        if let Some(value) = value {
            digits(name, value).map_err(DecodeFault::Malformed)?;
        }
    }
    let PlacedText { body, body_base64, headers, producer_timestamp, .. } = placed;
    let (body, headers, producer_timestamp) =
        parts(RecordText { body, body_base64, headers, producer_timestamp })?;
    Ok(Record { body: Bytes::from(body.into_owned()), headers, producer_timestamp })
}

/// The batch so far, and the limit that ended it.
struct Building {
    builder: BatchBuilder,
    limit: Option<LimitError>,
}

/// The outer object: `{"records": […]}`.
struct Outer<'b>(&'b mut Building);

impl<'de> Visitor<'de> for Outer<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with the field `records`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen = false;
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            if key != "records" {
                return Err(de::Error::unknown_field(&key, &["records"]));
            }
            if std::mem::replace(&mut seen, true) {
                return Err(de::Error::duplicate_field("records"));
            }
            map.next_value_seed(Records(self.0))?;
        }
        if seen { Ok(()) } else { Err(de::Error::missing_field("records")) }
    }
}

/// The list of records.
struct Records<'b>(&'b mut Building);

impl<'de> DeserializeSeed<'de> for Records<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Records<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of records")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(Object(record)) = seq.next_element::<Object<RecordText<'de>>>()? {
            push(self.0, record).map_err(|refused| match refused {
                DecodeFault::Malformed(detail) => de::Error::custom(detail),
                DecodeFault::Limit(limit) => {
                    self.0.limit = Some(limit);
                    de::Error::custom("limit")
                }
            })?;
        }
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordText<'a> {
    #[serde(borrow, default)]
    body: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    body_base64: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "headers")]
    headers: Vec<HeaderText<'a>>,
    #[serde(borrow, default)]
    producer_timestamp: Option<Cow<'a, str>>,
}

impl Named for RecordText<'_> {
    const WHAT: &'static str = RECORD;
}

/// A record that has, or had, a place in a stream.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlacedText<'a> {
    #[serde(borrow, default)]
    offset: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    timestamp: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    body: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    body_base64: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "headers")]
    headers: Vec<HeaderText<'a>>,
    #[serde(borrow, default)]
    producer_timestamp: Option<Cow<'a, str>>,
}

impl Named for PlacedText<'_> {
    const WHAT: &'static str = RECORD;
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HeaderText<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    value: Option<&'a RawValue>,
}

impl Named for HeaderText<'_> {
    const WHAT: &'static str = r#"a header, which is an object like {"name":"kind","value":"new"}"#;
}

/// The list of headers, refused when it is longer than any that fits its limit.
fn headers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<HeaderText<'de>>, D::Error> {
    struct Bounded;
    impl<'de> Visitor<'de> for Bounded {
        type Value = Vec<HeaderText<'de>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of headers")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            const MOST: usize = MAX_HEADER_BLOCK_BYTES / LEAST_HEADER_BYTES;
            let mut list = Vec::new();
            while let Some(Object(header)) = seq.next_element()? {
                if list.len() == MOST {
                    return Err(de::Error::custom(format!("a record has more than {MOST} headers")));
                }
                list.push(header);
            }
            Ok(list)
        }
    }
    deserializer.deserialize_seq(Bounded)
}

fn push(batch: &mut Building, record: RecordText<'_>) -> Result<(), DecodeFault> {
    let (body, headers, time) = parts(record)?;
    Ok(batch.builder.push(&body, &headers, time)?)
}

/// What a record is made of: body, headers and the producer's time.
type Parts<'a> = (Cow<'a, [u8]>, Headers, Option<Timestamp>);

fn parts(record: RecordText<'_>) -> Result<Parts<'_>, DecodeFault> {
    let malformed = DecodeFault::Malformed;
    let headers = record.headers.into_iter().map(header).collect::<Result<Vec<_>, _>>().map_err(malformed)?;
    let headers = Headers::new(&headers)?;
    let time = record.producer_timestamp.as_deref().map(|text| digits("producer_timestamp", text));
    let time = time.transpose().map_err(malformed)?.map(Timestamp);
    let body = match (record.body, record.body_base64) {
        (Some(_), Some(_)) => {
            return Err(malformed("a record has `body` or `body_base64`, not both".to_owned()));
        }
        (Some(Cow::Borrowed(text)), None) => Cow::Borrowed(text.as_bytes()),
        (Some(Cow::Owned(text)), None) => Cow::Owned(text.into_bytes()),
        (None, None) => Cow::Borrowed(&[][..]),
        (None, Some(text)) => Cow::Owned(
            STANDARD
                .decode(text.as_bytes())
                .map_err(|error| malformed(format!("`body_base64` is not standard base64: {error}")))?,
        ),
    };
    Ok((body, headers, time))
}

fn header(header: HeaderText<'_>) -> Result<Header, String> {
    let raw = header.value.map_or("null", RawValue::get);
    if raw.len() > MAX_VALUE_TEXT_BYTES {
        return Err(format!(
            "a header value has {} bytes as JSON, at most {MAX_VALUE_TEXT_BYTES} allowed",
            raw.len()
        ));
    }
    let json = serde_json::from_str(raw).map_err(|error| error.to_string())?;
    Ok(Header { name: header.name.into_owned(), value: value::from_json(header.kind.as_deref(), json)? })
}

/// A number of the field `name` that is written as a string of digits.
fn digits(name: &str, text: &str) -> Result<u64, String> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let value = if digits { text.parse().ok() } else { None };
    value.ok_or_else(|| {
        let text = crate::http::offset::excerpt(text);
        let what = if name == "offset" { "a number" } else { "milliseconds since 1970" };
        format!("`{text}` is not right for {name}: write {what} as a string of digits")
    })
}
