//! Batches on their way: owns how one is encoded and what an append got. Sends one in a single try at most; whoever wants it
//! stored once and only once has a [`Producer`](crate::Producer).

use bytes::Bytes;
use hyper::Method;
use kelda_format::Timestamp;
use kelda_format::batch::{Batch, BatchBuilder};
use kelda_format::header::Headers;
use kelda_format::records::{self, CONTENT_TYPE};

use crate::connect::Kelda;
use crate::error::Error;
use crate::http::Answer;
use crate::stream::path;

/// What an append got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The offset of the first record of the batch; absent for a duplicate whose result is no longer kept, and over AMQP, whose
    /// confirms do not tell it.
    pub first_offset: Option<u64>,
    /// The offset after the last record of the batch; 0 over AMQP.
    pub next_offset: u64,
    /// The server's time of the append, in milliseconds since 1970; absent for a duplicate.
    pub timestamp: Option<Timestamp>,
    /// Whether an earlier try had stored the batch already.
    pub duplicate: bool,
}

impl Kelda {
    /// Appends one encoded batch without a producer, in one try.
    ///
    /// # Errors
    /// What the server refused; after [`Error::OutcomeUnknown`] whether the batch was stored is unknown.
    pub async fn append_once(&self, name: &str, batch: Bytes) -> Result<Appended, Error> {
        let headers = [("content-type", CONTENT_TYPE.to_owned())];
        appended(
            &self
                .transport
                .http("append an encoded batch")?
                .send(Method::POST, &path(name), &headers, batch)
                .await?,
        )
    }
}

pub(crate) fn appended(answer: &Answer) -> Result<Appended, Error> {
    Ok(Appended {
        first_offset: answer.number("kelda-first-offset").ok(),
        next_offset: answer.number("stream-next-offset")?,
        timestamp: answer.number("kelda-timestamp").ok().map(Timestamp),
        duplicate: answer.header("kelda-duplicate") == Some("true"),
    })
}

/// Encodes a batch of records that have a body and nothing else.
///
/// # Errors
/// [`Error::Limit`] when a record or the batch is too large.
pub fn encode_bodies<'a>(bodies: impl Iterator<Item = &'a [u8]>) -> Result<Bytes, Error> {
    let mut batch = BatchBuilder::new();
    for body in bodies {
        batch.push(body, &Headers::none(), None)?;
    }
    Ok(encode(&batch.finish()))
}

/// Encodes a batch as [`Kelda::append_once`] takes it.
#[must_use]
pub fn encode(batch: &Batch) -> Bytes {
    records::encode_write(batch).concat().into()
}
