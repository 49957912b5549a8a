//! Appending batches exactly once: owns the producer's id, epoch and sequence, guarantees that a retried
//! batch keeps its sequence and that a new one gets the next, never sends two batches at a time.

use std::time::Duration;

use bytes::Bytes;
use hyper::Method;
use kelda_format::Timestamp;
use kelda_format::batch::{Batch, BatchBuilder};
use kelda_format::header::Headers;
use kelda_format::records::{self, CONTENT_TYPE};

use crate::backoff::Backoff;
use crate::connect::Kelda;
use crate::error::Error;
use crate::http::Answer;
use crate::stream::path;
use crate::timer::{self, Stopwatch};

/// What an append got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The offset of the first record of the batch; absent for a duplicate whose result is no longer kept.
    pub first_offset: Option<u64>,
    /// The offset after the last record of the batch.
    pub next_offset: u64,
    /// The server's time of the append, in milliseconds since 1970; absent for a duplicate.
    pub timestamp: Option<Timestamp>,
    /// Whether an earlier try had stored the batch already.
    pub duplicate: bool,
}

/// Writes batches to one stream, each exactly once, in order.
#[derive(Debug)]
pub struct Appender {
    kelda: Kelda,
    target: String,
    producer: String,
    next_sequence: u64,
    patience: Duration,
}

impl Appender {
    /// An appender with a producer id that nobody else uses; a batch is retried for `patience` when the
    /// server is not there or overloaded.
    #[must_use]
    pub fn new(kelda: &Kelda, stream: &str, producer: String, patience: Duration) -> Appender {
        Appender { kelda: kelda.clone(), target: path(stream), producer, next_sequence: 0, patience }
    }

    /// Appends one batch (see [`encode_bodies`]) atomically.
    ///
    /// # Errors
    /// What the server refused; [`Error::OutcomeUnknown`] when `patience` ran out and the batch may have been stored.
    pub async fn append(&mut self, batch: Bytes) -> Result<Appended, Error> {
        let headers = [
            ("content-type", CONTENT_TYPE.to_owned()),
            ("producer-id", self.producer.clone()),
            ("producer-epoch", "0".to_owned()),
            ("producer-seq", self.next_sequence.to_string()),
        ];
        let mut backoff = Backoff::new(self.patience);
        loop {
            let (limit, began) = (backoff.limit(), Stopwatch::start());
            let http = &self.kelda.http;
            match http.send_within(limit, Method::POST, &self.target, &headers, batch.clone()).await {
                Ok(answer) => {
                    self.next_sequence += 1;
                    return appended(&answer);
                }
                Err(error) if error.is_retryable() => {
                    backoff.spend(began.elapsed());
                    let Some(pause) = backoff.pause() else { return Err(error) };
                    timer::sleep(pause).await;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

impl Kelda {
    /// Appends one encoded batch without a producer, in one try.
    ///
    /// # Errors
    /// What the server refused; after [`Error::OutcomeUnknown`] whether the batch was stored is unknown.
    pub async fn append_once(&self, name: &str, batch: Bytes) -> Result<Appended, Error> {
        let headers = [("content-type", CONTENT_TYPE.to_owned())];
        appended(&self.http.send(Method::POST, &path(name), &headers, batch).await?)
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

/// Encodes a batch for [`Appender::append`].
#[must_use]
pub fn encode(batch: &Batch) -> Bytes {
    records::encode_write(batch).concat().into()
}
