//! Entries over AMQP: owns the consumer of one reader. Guarantees that no more than the prefetch is out unacknowledged, but for
//! what a chunk brings beyond it, that acknowledgements follow what is finished, and that a consumer which ends is a lost
//! connection. Never begins a consumer anew within one question.

use std::collections::VecDeque;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use kelda_format::{StoredRecord, StreamId};
use lapin::message::Delivery;
use lapin::options::BasicAckOptions;
use lapin::types::ShortString;
use parking_lot::Mutex;

use super::place::Subscription;
use super::{Amqp, properties, queue};
use crate::error::Error;
use crate::message::UNKNOWN;
use crate::reader::core::{Ask, Given};
use crate::reader::feed::{Feed, FeedError, Page};
use crate::start::StartAt;

/// The consumer of a reader, begun when it is asked for something and there is none that would give it.
pub(crate) struct AmqpFeed {
    amqp: Amqp,
    queue: ShortString,
    prefetch: u16,
    /// Taken by whoever asks, and put back with the answer: a question that is given up ends the consumer.
    consuming: Mutex<Option<Consuming>>,
}

struct Consuming {
    subscription: Subscription,
    /// Where it was begun.
    begun: StartAt,
    /// Behind the last entry that it gave.
    next: Option<u64>,
    /// Tags of what came and was not acknowledged, in order.
    unacknowledged: VecDeque<u64>,
    /// Came behind a jump in the offsets, and waits until what came before is given.
    held: Option<(u64, Delivery)>,
}

impl AmqpFeed {
    /// A reader's feed that may have so many entries out; AMQP counts up to 65,535.
    pub(crate) fn new(amqp: &Amqp, stream: &str, prefetch: u64) -> Result<AmqpFeed, Error> {
        let prefetch = u16::try_from(prefetch).unwrap_or(u16::MAX);
        Ok(AmqpFeed { amqp: amqp.clone(), queue: queue(stream)?, prefetch, consuming: Mutex::new(None) })
    }

    async fn once(&self, ask: Ask, expected: Option<StreamId>) -> Result<Page, FeedError> {
        let held = self.consuming.lock().take().filter(|consuming| consuming.serves(ask.start));
        let begins = held.is_none();
        let mut consuming = match held {
            Some(consuming) => consuming,
            None => self.begin(ask.start, expected).await?,
        };
        let page = if begins && !ask.wait {
            // That the server took the consumer is all that can be said: nothing tells whether there is an entry.
            consuming.page(Vec::new())
        } else {
            self.acknowledge(&mut consuming, ask.unfinished).await?;
            self.take(&mut consuming, ask).await?
        };
        *self.consuming.lock() = Some(consuming);
        Ok(page)
    }

    async fn begin(&self, start: StartAt, expected: Option<StreamId>) -> Result<Consuming, FeedError> {
        let subscription = self.amqp.subscribe(&self.queue, start, self.prefetch).await?;
        if let Some(place) = subscription.place {
            if expected.is_some_and(|expected| expected != UNKNOWN && expected != place.stream_id) {
                return Err(FeedError::Changed { found: place.stream_id.to_string() });
            }
            if matches!(start, StartAt::Offset(offset) if offset < place.offset) {
                return Err(FeedError::Gone { start: place.offset });
            }
        }
        Ok(Consuming { subscription, begun: start, next: None, unacknowledged: VecDeque::new(), held: None })
    }

    /// Acknowledges all but the newest `unfinished`: to a stream this says how many more it may send, not which are done.
    async fn acknowledge(&self, consuming: &mut Consuming, unfinished: u64) -> Result<(), Error> {
        let keep = usize::try_from(unfinished).unwrap_or(usize::MAX);
        let count = consuming.unacknowledged.len().saturating_sub(keep);
        let Some(tag) = consuming.unacknowledged.drain(..count).next_back() else { return Ok(()) };
        let multiple = BasicAckOptions { multiple: true };
        self.amqp.answer(consuming.subscription.channel.basic_ack(tag, multiple)).await
    }

    /// The entries that are there, or the next that comes.
    async fn take(&self, consuming: &mut Consuming, ask: Ask) -> Result<Page, FeedError> {
        let from = match ask.start {
            StartAt::Offset(offset) => offset,
            _ => 0,
        };
        let mut entries = Vec::new();
        while (entries.len() as u64) < ask.count {
            if let Some((offset, delivery)) = consuming.held.take() {
                self.look_for_gap(consuming, ask.start, offset).await?;
                consuming.next = Some(offset + 1);
                entries.push((offset, self.record(delivery, offset)?));
                continue;
            }
            let delivery = match consuming.subscription.consumer.next().now_or_never() {
                Some(delivery) => delivery,
                None if entries.is_empty() => {
                    // What was passed over is credit that the server may need to go on.
                    self.acknowledge(consuming, ask.unfinished).await?;
                    consuming.subscription.consumer.next().await
                }
                None => break,
            };
            let delivery = match delivery {
                Some(Ok(delivery)) => delivery,
                // What came before it in this answer comes again.
                Some(Err(error)) => return Err(self.amqp.refused(&error).into()),
                None => return Err(self.amqp.lost("the server cancelled the consumer").into()),
            };
            let Some(offset) = properties::offset(&delivery) else {
                let said =
                    format!("a delivery of {:?} has no offset, as of a queue that is no stream", self.queue);
                return Err(Error::Protocol(said).into());
            };
            consuming.unacknowledged.push_back(delivery.delivery_tag);
            if offset < from || consuming.next.is_some_and(|next| offset < next) {
                continue;
            }
            let follows = consuming.expected(ask.start) == Some(offset);
            consuming.held = Some((offset, delivery));
            if !follows && !entries.is_empty() {
                break;
            }
        }
        Ok(consuming.page(entries))
    }

    fn record(&self, delivery: Delivery, offset: u64) -> Result<StoredRecord, Error> {
        Ok(properties::incoming(delivery, self.queue.as_str(), offset)?)
    }

    /// Tells a jump over offsets that never were entries, as RabbitMQ takes some for itself, from records that are gone: the
    /// first record that is held says which. A Kelda has no such offsets.
    async fn look_for_gap(&self, consuming: &Consuming, start: StartAt, found: u64) -> Result<(), FeedError> {
        let Some(expected) = consuming.expected(start).filter(|expected| *expected < found) else {
            return Ok(());
        };
        if consuming.subscription.place.is_some() {
            return Err(FeedError::Gone { start: found });
        }
        // One offset is what a new segment takes; a consumer that just began may have been set forward by any number.
        if consuming.next.is_some() && found == expected + 1 {
            return Ok(());
        }
        let first = self.first().await?;
        if first > expected { Err(FeedError::Gone { start: first.min(found) }) } else { Ok(()) }
    }

    /// The first record that is held, of a stream that has one.
    async fn first(&self) -> Result<u64, Error> {
        let Subscription { channel: _channel, mut consumer, .. } =
            self.amqp.subscribe(&self.queue, StartAt::First, 1).await?;
        let delivery = self.amqp.answer(async { consumer.next().await.transpose() }).await?;
        let offset = delivery.as_ref().and_then(properties::offset);
        offset.ok_or_else(|| self.amqp.lost("the server cancelled the consumer"))
    }
}

impl Consuming {
    /// The offset that comes next when none is missing: what was asked for may be further on than what was given.
    fn expected(&self, start: StartAt) -> Option<u64> {
        match start {
            StartAt::Offset(offset) => Some(self.next.unwrap_or(0).max(offset)),
            _ => self.next,
        }
    }

    /// Whether what it gives next is what is asked for.
    fn serves(&self, start: StartAt) -> bool {
        match (self.next, start) {
            (Some(next), StartAt::Offset(offset)) => next <= offset,
            (None, StartAt::Offset(offset)) => match (self.begun, self.subscription.place) {
                (StartAt::Offset(begun), _) => begun <= offset,
                (_, Some(place)) => place.offset <= offset,
                _ => false,
            },
            (None, start) => self.begun == start,
            (Some(_), _) => false,
        }
    }

    fn page(&self, entries: Vec<(u64, StoredRecord)>) -> Page {
        let place = self.subscription.place;
        let stream_id = place.map_or(UNKNOWN, |place| place.stream_id);
        let next = self.next.or(place.map(|place| place.offset));
        let given = Given { entries, sparse: true, next, caught_up: true, sealed: false };
        Page { stream_id, given, reached: false }
    }
}

impl Feed for AmqpFeed {
    fn fetch(&self, ask: Ask, expected: Option<StreamId>) -> BoxFuture<'_, Result<Page, FeedError>> {
        Box::pin(self.once(ask, expected))
    }
}
