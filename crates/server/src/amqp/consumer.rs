//! A consumer.
//!
//! Owns its position and its credit. Guarantees that no more is delivered than its prefetch minus what is not acknowledged, and
//! that one whose stream is deleted learns it, with credit or without. Never writes to the connection.

use std::time::Duration;

use futures::future::AbortHandle;
use kelda_env::Env;
use kelda_format::{Offset, StreamId, StreamName};
use kelda_service::{Caller, Chunk, ReadError, ReadLimit, Service, Wait};

use super::wire::Short;

/// Bytes that are read for a consumer at once.
const READ_BYTES: u64 = 256 << 10;
/// How long one wait for records is, after which the next begins.
const WAIT: Duration = Duration::from_secs(60);
/// How long to pause before the next try when a stream cannot be read now.
const PAUSE: Duration = Duration::from_millis(250);

/// One consumer.
pub struct Consumer {
    /// Which of the consumers of this connection it is.
    pub turn: u64,
    /// The queue, as it is called over AMQP.
    pub queue: Short,
    /// The stream behind it.
    pub name: StreamName,
    /// The life of the stream.
    pub stream: StreamId,
    /// The next offset to deliver.
    pub next: Offset,
    /// Deliveries that it may have without acknowledging one.
    pub credit: u64,
    /// What is on its way: a read, or a watch over the stream while there is no credit.
    pub busy: Option<(Work, AbortHandle)>,
}

/// What is on its way for a consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Records.
    Read,
    /// Word that the stream is gone.
    Watch,
}

/// What a consumer learned.
pub enum News {
    /// Records, at least one.
    Records(Chunk),
    /// The stream is gone.
    Gone,
}

/// Where a consumer reads.
pub struct Place {
    /// The world.
    pub env: Env,
    /// Named streams.
    pub service: Service,
    /// The stream.
    pub name: StreamName,
    /// Its life.
    pub stream: StreamId,
    /// From here.
    pub from: Offset,
}

impl Place {
    /// The next records, as soon as there are any, at most so many.
    pub async fn read(self, max_records: u64) -> News {
        let mut from = self.from;
        loop {
            let limit = ReadLimit { max_bytes: READ_BYTES, max_records, until: None };
            let read = self.service.read(&Caller::anonymous(), &self.name, self.stream, from, limit).await;
            match read {
                Ok(chunk) if !chunk.blocks.is_empty() => return News::Records(chunk),
                Ok(_) | Err(ReadError::PastTail { .. }) => {
                    if let Some(gone) = self.wait(from).await {
                        return gone;
                    }
                }
                // Retention removed what would come next: it goes on with what is left.
                Err(ReadError::Trimmed { start }) => from = start,
                Err(ReadError::Gone | ReadError::Lookup(_)) => return News::Gone,
                Err(error) => {
                    tracing::warn!(stream = %self.name, %error, "a consumer cannot read now; trying again");
                    self.env.clock.sleep(PAUSE).await;
                }
            }
        }
    }

    /// Waits until the stream is gone.
    pub async fn watch(self) -> News {
        loop {
            if let Some(gone) = self.wait(Offset(u64::MAX >> 1)).await {
                return gone;
            }
        }
    }

    /// Waits a while for records behind `after`; tells when there will be none.
    async fn wait(&self, after: Offset) -> Option<News> {
        match self.service.wait(&self.name, self.stream, after, WAIT).await {
            Wait::Gone => Some(News::Gone),
            Wait::Data | Wait::TimedOut => None,
            // A sealed stream has no news but its end.
            Wait::Sealed | Wait::Ended => {
                self.env.clock.sleep(PAUSE).await;
                None
            }
        }
    }
}
