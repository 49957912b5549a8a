//! A consumer.
//!
//! Owns its position, its credit and the page that it is being given. Guarantees that no more is delivered than its prefetch
//! minus what is not acknowledged, and that one whose stream is deleted learns it, with credit or without. Never writes to the
//! connection.

use std::iter::Peekable;
use std::sync::Arc;
use std::time::Duration;

use futures::future::AbortHandle;
use kelda_env::Env;
use kelda_format::{Offset, StoredRecord, StreamId, StreamName};
use kelda_service::{Caller, Chunk, ReadError, ReadLimit, Service, Wait};

use super::queue::filter::Filter;
use super::wire::Short;

/// Bytes that are read for a consumer at once.
const READ_BYTES: u64 = 256 << 10;
/// How long one wait for records is, after which the next begins.
const WAIT: Duration = Duration::from_secs(60);
/// How long to pause before the next try when a stream cannot be read now.
const PAUSE: Duration = Duration::from_millis(250);

/// Most consumers of one channel.
pub const CHANNEL_CONSUMERS: usize = 1_000;
/// Most consumers of one connection: each may hold a page.
pub const CONNECTION_CONSUMERS: usize = 2_000;

/// Where deliveries come from.
#[derive(Debug)]
pub struct Origin {
    /// The tag of the consumer.
    pub tag: Short,
    /// Which of the consumers of this connection it is: a tag can be used again.
    pub turn: u64,
    /// The queue, as it is called over AMQP.
    pub queue: Short,
    /// The stream behind it.
    pub stream: StreamId,
}

/// One consumer.
pub struct Consumer {
    /// Who it is.
    pub origin: Arc<Origin>,
    /// The stream behind it.
    pub name: StreamName,
    /// The life of the stream.
    pub stream: StreamId,
    /// The next offset to deliver.
    pub next: Offset,
    /// Deliveries that it may have without acknowledging one.
    pub credit: u64,
    /// What of the stream it wants; all when there is none.
    pub filter: Option<Arc<Filter>>,
    /// Records that were read and not delivered yet.
    pub page: Option<Page>,
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

/// Records that were read: those that are wanted, in order. They share the memory of what was read.
pub struct Page {
    records: Peekable<Box<dyn Iterator<Item = StoredRecord> + Send>>,
    /// Where the next page begins.
    pub next: Offset,
}

impl Page {
    /// What of a chunk is wanted.
    fn new(chunk: Chunk, filter: Option<Arc<Filter>>) -> Page {
        let Chunk { blocks, next, .. } = chunk;
        let blocks = blocks.into_iter();
        let records: Box<dyn Iterator<Item = StoredRecord> + Send> = match filter {
            None => Box::new(blocks.flat_map(|block| block.records())),
            Some(filter) => {
                let of_block = Arc::clone(&filter);
                let blocks = blocks.filter(move |block| of_block.may_want(block));
                Box::new(blocks.flat_map(|block| block.records()).filter(move |one| filter.wants(one)))
            }
        };
        Page { records: records.peekable(), next }
    }

    /// The next record.
    pub fn take(&mut self) -> Option<StoredRecord> {
        self.records.next()
    }

    /// Whether nothing is left.
    pub fn is_empty(&mut self) -> bool {
        self.records.peek().is_none()
    }
}

/// What a consumer learned.
pub enum News {
    /// Records, at least one.
    Records(Page),
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
    /// What is wanted of it.
    pub filter: Option<Arc<Filter>>,
}

impl Place {
    /// The next records that are wanted, as soon as there are any.
    pub async fn read(self) -> News {
        let mut from = self.from;
        loop {
            let limit = ReadLimit { max_bytes: READ_BYTES, max_records: u64::MAX, until: None };
            let (caller, place) = (Caller::anonymous(), (&self.name, self.stream));
            let read = match &self.filter {
                None => self.service.read(&caller, place.0, place.1, from, limit).await,
                Some(filter) => {
                    self.service.read_wanted(&caller, place, from, limit, filter.selection()).await
                }
            };
            match read {
                // Of a filtered read, nothing may be left though it went on.
                Ok(chunk) if chunk.next > from => {
                    let mut page = Page::new(chunk, self.filter.clone());
                    if !page.is_empty() {
                        return News::Records(page);
                    }
                    from = page.next;
                    // A long way without a wanted record holds up nothing else of the connection.
                    tokio::task::yield_now().await;
                }
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
