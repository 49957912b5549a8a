//! The way of messages into one stream.
//!
//! Owns the order: the messages of one channel for one stream are appended in the order in which they came, a batch at a time,
//! and what comes meanwhile is the next batch. Guarantees that a batch which cannot be appended because of one message is
//! appended message by message. Never confirms anything itself.

use std::collections::VecDeque;

use futures::FutureExt;
use futures::future::BoxFuture;
use kelda_format::StreamName;
use kelda_format::batch::Batch;
use kelda_format::record::Record;
use kelda_service::{AppendError, AppendRequest, Caller, Content, LookupError, Service};

/// Most records of a batch.
const BATCH_RECORDS: usize = 4_096;
/// Most bytes of a batch, beside its last record.
const BATCH_BYTES: u64 = 4 << 20;

/// Messages on their way into one stream.
#[derive(Default)]
pub struct Lane {
    waiting: VecDeque<(Option<u64>, Record)>,
    in_flight: bool,
}

/// What became of a batch: the tags of its messages and whether each is stored, and the bytes that are free again.
pub struct Appended {
    /// Tags of the messages that have one.
    pub tags: Vec<(u64, bool)>,
    /// Messages of the batch.
    pub records: usize,
    /// Their bytes.
    pub bytes: u64,
}

impl Lane {
    /// Adds a message behind all others.
    pub fn push(&mut self, tag: Option<u64>, record: Record) {
        self.waiting.push_back((tag, record));
    }

    /// Whether nothing waits and nothing is on its way.
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty() && !self.in_flight
    }

    /// The batch before is done.
    pub fn landed(&mut self) {
        self.in_flight = false;
    }

    /// Sends the next batch off, when there is one and none is on its way.
    pub fn start(&mut self, service: &Service, name: &StreamName) -> Option<BoxFuture<'static, Appended>> {
        if self.in_flight || self.waiting.is_empty() {
            return None;
        }
        let (mut bytes, mut count) = (0, 0);
        for (_, record) in self.waiting.iter().take(BATCH_RECORDS) {
            count += 1;
            bytes += record.byte_len();
            if bytes >= BATCH_BYTES {
                break;
            }
        }
        self.in_flight = true;
        let batch: Vec<_> = self.waiting.drain(..count).collect();
        let (service, name) = (service.clone(), name.clone());
        Some(async move { append(&service, &name, batch, bytes).await }.boxed())
    }
}

async fn append(
    service: &Service,
    name: &StreamName,
    batch: Vec<(Option<u64>, Record)>,
    bytes: u64,
) -> Appended {
    let (tags, records): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
    let mut stored = vec![true; records.len()];
    match once(service, name, &records).await {
        Ok(()) => {}
        Err(AppendError::Content(_)) if records.len() > 1 => {
            for (record, stored) in records.iter().zip(&mut stored) {
                *stored = take(name, once(service, name, std::slice::from_ref(record)).await);
            }
        }
        Err(error) => {
            let is_stored = take(name, Err(error));
            stored.iter_mut().for_each(|stored| *stored = is_stored);
        }
    }
    let count = records.len();
    let tags = tags.into_iter().zip(stored).filter_map(|(tag, stored)| Some((tag?, stored))).collect();
    Appended { tags, records: count, bytes }
}

/// Whether the publisher is told that its message is where it belongs.
fn take(name: &StreamName, outcome: Result<(), AppendError>) -> bool {
    match outcome {
        Ok(()) => true,
        // The queue was deleted since the message was routed: it reached every queue that there is.
        Err(AppendError::Lookup(LookupError::NotFound { .. } | LookupError::Gone { .. })) => true,
        Err(error) => {
            tracing::debug!(stream = %name, %error, "a message was not stored");
            false
        }
    }
}

async fn once(service: &Service, name: &StreamName, records: &[Record]) -> Result<(), AppendError> {
    let batch = match records {
        [one] => Batch::one(one.body.clone(), &one.headers, one.producer_timestamp),
        many => Batch::from_records(many),
    };
    let content = Content::Records(batch.map_err(kelda_service::ContentError::from)?);
    let request = AppendRequest { content, ..AppendRequest::default() };
    service.append(&Caller::anonymous(), name, request).await.map(drop)
}
