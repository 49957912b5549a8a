//! What an append carries: owns the way from a body to a batch, JSON mode included.
//!
//! Guarantees that what becomes a record comes back byte for byte: JSON values are cut out of the body, never
//! parsed and written anew. Never copies the body of a plain append.

use bytes::Bytes;
use kelda_format::batch::{Batch, BatchBuilder};
use kelda_format::{Headers, LimitError};
use serde::de::{DeserializeSeed, Deserializer as _, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::service::Inner;
use crate::{Fact, Fault, Field, NodeFault, Problem};

/// The content of an append or of a creation.
#[derive(Clone, Debug, Default)]
pub enum Content {
    /// Nothing.
    #[default]
    Empty,
    /// A body as a plain client sends it: one record, or in JSON mode one record per value. No bytes are the
    /// same as [`Content::Empty`].
    Body(Bytes),
    /// Records that were cut already; the request then has no content type to compare.
    Records(Batch),
}

/// A content that cannot be appended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContentError {
    /// Nothing to append, and no seal either.
    #[error("the body is empty: an append needs at least one byte unless it seals the stream")]
    EmptyBody,
    /// A JSON array without elements.
    #[error("the JSON array is empty: an append needs at least one element")]
    EmptyArray,
    /// Not JSON.
    #[error("record {record} is not one JSON value: {detail}")]
    InvalidJson {
        /// Which record of the batch, from 0.
        record: usize,
        /// What is wrong, with line and column.
        detail: String,
    },
    /// A limit on records or batches is exceeded.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// The append is larger than the node takes in one piece.
    #[error("{bytes} bytes are more than the {max} that one append may have on this node")]
    TooLarge {
        /// Bytes of the append.
        bytes: u64,
        /// The bound.
        max: u64,
    },
}

impl Fault for ContentError {
    fn problem(&self) -> Problem {
        match self {
            ContentError::EmptyBody => Problem::EmptyBody,
            ContentError::EmptyArray => Problem::EmptyArray,
            ContentError::InvalidJson { .. } => Problem::InvalidJson,
            ContentError::Limit(LimitError::BatchRecords { .. }) => Problem::TooManyRecords,
            ContentError::Limit(_) | ContentError::TooLarge { .. } => Problem::TooLarge,
        }
    }

    fn fields(&self) -> Vec<Field> {
        match self {
            ContentError::TooLarge { max, .. } => vec![("limit", Fact::Number(*max))],
            _ => Vec::new(),
        }
    }
}

impl Content {
    /// Whether there is nothing to append.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            Content::Empty => true,
            Content::Body(body) => body.is_empty(),
            Content::Records(batch) => batch.count() == 0,
        }
    }

    /// The batch to append, `None` when empty. An empty JSON array is `None` as well; [`Content::to_append`]
    /// refuses it.
    ///
    /// # Errors
    /// When the content is not JSON but has to be, or is beyond a limit.
    pub fn into_batch(self, json: bool) -> Result<Option<Batch>, ContentError> {
        if self.is_empty() {
            return Ok(None);
        }
        match self {
            Content::Empty => Ok(None),
            Content::Body(body) if json => flatten(&body),
            Content::Body(body) => Ok(Some(Batch::single(body)?)),
            Content::Records(batch) => {
                if json {
                    check_bodies(&batch)?;
                }
                Ok(Some(batch))
            }
        }
    }

    /// The batch of an append, which has to hold something unless the append seals.
    ///
    /// # Errors
    /// As [`Content::into_batch`], and when there is nothing to append.
    pub fn to_append(self, json: bool, seal: bool) -> Result<Batch, ContentError> {
        let empty = self.is_empty();
        match self.into_batch(json)? {
            Some(batch) => Ok(batch),
            None if !empty => Err(ContentError::EmptyArray),
            None if seal => Ok(Batch::empty()),
            None => Err(ContentError::EmptyBody),
        }
    }
}

/// Bytes from which on content is cut beside the executor: checksums and JSON take a millisecond or so.
const LARGE_BYTES: u64 = 256 << 10;

impl Inner {
    /// Cuts content with `cut`, beside the executor when there is much of it.
    pub(crate) async fn cut<T: Send + 'static>(
        &self,
        content: Content,
        cut: impl FnOnce(Content) -> Result<T, ContentError> + Send + 'static,
    ) -> Result<Result<T, ContentError>, NodeFault> {
        let bytes = match &content {
            Content::Empty => 0,
            Content::Body(body) => body.len() as u64,
            Content::Records(batch) => batch.byte_len(),
        };
        if bytes < LARGE_BYTES {
            return Ok(cut(content));
        }
        let work = self.env.blocking("cut", move || cut(content));
        work.await.map_err(|error| NodeFault::Unavailable { reason: error.to_string() })
    }
}

fn invalid(record: usize, error: &impl ToString) -> ContentError {
    ContentError::InvalidJson { record, detail: error.to_string() }
}

/// Every record of a batch for a JSON stream has to be one JSON value: readers get them inside an array.
fn check_bodies(batch: &Batch) -> Result<(), ContentError> {
    for (at, record) in batch.records().enumerate() {
        serde_json::from_slice::<&RawValue>(&record.body).map_err(|error| invalid(at, &error))?;
    }
    Ok(())
}

/// Cuts a JSON body into records: the elements of an array, or the one value that is not an array.
fn flatten(body: &Bytes) -> Result<Option<Batch>, ContentError> {
    let first = body.iter().find(|byte| !byte.is_ascii_whitespace());
    if first != Some(&b'[') {
        let value: &RawValue = serde_json::from_slice(body).map_err(|error| invalid(0, &error))?;
        let record = body.slice_ref(value.get().as_bytes());
        return Ok(Some(Batch::single(record)?));
    }
    let mut elements = Elements { batch: BatchBuilder::with_capacity(64, body.len()), refused: None };
    let mut json = serde_json::Deserializer::from_slice(body);
    let walked = (&mut json).deserialize_seq(&mut elements).and_then(|()| json.end());
    match (elements.refused, walked) {
        (Some(limit), _) => Err(limit.into()),
        (None, Err(error)) => Err(invalid(elements.batch.count() as usize, &error)),
        (None, Ok(())) if elements.batch.count() == 0 => Ok(None),
        (None, Ok(())) => Ok(Some(elements.batch.finish())),
    }
}

/// Collects the elements of an array; stops at the limits, so that memory is bounded by the body.
struct Elements {
    batch: BatchBuilder,
    refused: Option<LimitError>,
}

impl<'de> Visitor<'de> for &mut Elements {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an array of JSON values")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(value) = seq.next_element_seed(Raw)? {
            if let Err(limit) = self.batch.push(value.get().as_bytes(), &Headers::none(), None) {
                let text = limit.to_string();
                self.refused = Some(limit);
                return Err(serde::de::Error::custom(text));
            }
        }
        Ok(())
    }
}

/// Takes one value as the text it was written in.
struct Raw;

impl<'de> DeserializeSeed<'de> for Raw {
    type Value = &'de RawValue;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<&'de RawValue, D::Error> {
        serde::Deserialize::deserialize(deserializer)
    }
}

#[cfg(test)]
mod tests;
