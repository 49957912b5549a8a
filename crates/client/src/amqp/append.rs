//! Publishing with confirms: owns the channel of one publisher and how a batch becomes messages. Guarantees that messages go out
//! in the order of their batches, that what was confirmed counts as stored whatever comes after, and that what was sent and
//! not confirmed is said to be unknown. Never sends a message twice by itself.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use futures::future::{BoxFuture, try_join_all};
use kelda_format::limits::PRODUCER_RESULTS_KEPT;
use kelda_format::{Record, StreamId, records};
use lapin::options::{BasicPublishOptions, ConfirmSelectOptions};
use lapin::types::{AMQPValue, FieldTable, ShortString};
use lapin::{BasicProperties, Channel, Confirmation, PublisherConfirm};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::{Amqp, Use, properties, queue, refusal};
use crate::append::Appended;
use crate::error::Error;
use crate::message::UNKNOWN;
use crate::producer::Verdict;
use crate::producer::run::{Append, Identity, Request, typed};
use crate::timer;

/// Messages that are handed to the connection at once.
const AT_ONCE: usize = 256;

/// The headers by which a Kelda tells repetitions from what is new. The sequence counts messages, not batches.
mod producer {
    pub(super) const ID: &str = "x-kelda-producer-id";
    pub(super) const EPOCH: &str = "x-kelda-producer-epoch";
    pub(super) const SEQUENCE: &str = "x-kelda-producer-seq";
    /// The first of a run is none: a Kelda refuses it when it would be one.
    pub(super) const NEW: &str = "x-kelda-producer-new";
    /// The stream that is meant, which another of the same name is not.
    pub(super) const STREAM: &str = "x-kelda-stream-id";
}

/// A message on its way.
struct Message {
    body: Bytes,
    properties: BasicProperties,
}

/// Publishes to one queue, on a channel of its own.
#[derive(Clone)]
pub(super) struct Publisher {
    amqp: Amqp,
    queue: ShortString,
    channel: Arc<Mutex<Option<Channel>>>,
}

impl Publisher {
    pub(super) fn new(amqp: &Amqp, queue: ShortString) -> Publisher {
        Publisher { amqp: amqp.clone(), queue, channel: Arc::default() }
    }

    /// Publishes one record.
    pub(super) async fn one(&self, record: &Record) -> Result<(), Error> {
        let message = self.message(record);
        let channel = self.channel().await?;
        self.publish(&channel, vec![message], 0, &AtomicU32::new(0), || ()).await
    }

    fn message(&self, record: &Record) -> Message {
        Message { body: record.body.clone(), properties: properties::outgoing(record, self.amqp.user()) }
    }

    /// The channel, opened if there is none.
    async fn channel(&self) -> Result<Channel, Error> {
        let held = self.channel.lock().clone();
        if let Some(channel) = held.filter(|channel| channel.status().connected()) {
            return Ok(channel);
        }
        let channel = self.amqp.channel(Use::Publishing).await?;
        self.amqp.answer(channel.confirm_select(ConfirmSelectOptions::default())).await?;
        *self.channel.lock() = Some(channel.clone());
        Ok(channel)
    }

    /// Sends messages, says so when all are on their way, and waits for their confirms; `stored` counts those of the front, of
    /// which `before` are confirmed already.
    async fn publish(
        &self,
        channel: &Channel,
        messages: Vec<Message>,
        before: u32,
        stored: &AtomicU32,
        sent: impl FnOnce(),
    ) -> Result<(), Error> {
        let mut confirms = Vec::with_capacity(messages.len());
        let mut messages = messages.into_iter().peekable();
        while messages.peek().is_some() {
            let some: Vec<Message> = messages.by_ref().take(AT_ONCE).collect();
            // Each is queued when it is polled first, and they are polled in order.
            let sending = some.iter().map(|message| {
                let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
                let (exchange, key) = (ShortString::default(), self.queue.clone());
                channel.basic_publish(exchange, key, options, &message.body, message.properties.clone())
            });
            confirms.extend(try_join_all(sending).await.map_err(|error| self.unsure(&error))?);
        }
        sent();
        for (confirm, count) in confirms.into_iter().zip(before + 1..) {
            match self.confirmation(confirm).await? {
                Confirmation::Ack(None) => {
                    stored.fetch_max(count, Ordering::Relaxed);
                }
                Confirmation::Ack(Some(_)) | Confirmation::Nack(Some(_)) => {
                    return Err(refusal::of(
                        "not-found",
                        404,
                        &format!("no queue {:?}", self.queue.as_str()),
                    ));
                }
                Confirmation::Nack(None) => {
                    let said = format!("{:?} did not take the message", self.queue.as_str());
                    return Err(refusal::of("nacked", 400, &said));
                }
                Confirmation::NotRequested => {
                    return Err(Error::Protocol("a message was not to be confirmed".to_owned()));
                }
            }
        }
        Ok(())
    }

    /// The confirm of one message. A server that said it is short of something is waited for.
    async fn confirmation(&self, mut confirm: PublisherConfirm) -> Result<Confirmation, Error> {
        let limit = self.amqp.shared.answer_limit;
        loop {
            if let Some(answer) = timer::within(limit, &mut confirm).await {
                return answer.map_err(|error| self.unsure(&error));
            }
            let blocked = self.amqp.connection(Use::Publishing).await?.status().blocked();
            if !blocked {
                // What comes late must not be taken for the answer to something else.
                self.channel.lock().take();
                let (endpoint, cause) =
                    (self.amqp.endpoint().to_owned(), format!("no confirm within {limit:?}"));
                return Err(Error::OutcomeUnknown { endpoint, cause });
            }
        }
    }

    /// What an error means for a batch that is not to be sent twice, since a part of it may be stored.
    fn once(&self, error: Error) -> Error {
        match error {
            Error::Problem(problem) if Error::Problem(problem.clone()).is_retryable() => {
                Error::OutcomeUnknown { endpoint: self.amqp.endpoint().to_owned(), cause: problem.detail }
            }
            other => other,
        }
    }

    /// What an error means for a message that may have been sent.
    fn unsure(&self, error: &lapin::Error) -> Error {
        match self.amqp.refused(error) {
            Error::Unreachable { endpoint, cause } => Error::OutcomeUnknown { endpoint, cause },
            other => other,
        }
    }
}

/// Batches of a producer over AMQP.
pub(crate) struct AmqpAppend {
    publisher: Publisher,
    stream: String,
    stream_id: StreamId,
    identity: Identity,
    /// Those before have sent their messages.
    turn: Mutex<Option<oneshot::Receiver<()>>>,
    numbers: Mutex<Numbers>,
}

impl AmqpAppend {
    pub(crate) fn new(
        amqp: &Amqp,
        stream: &str,
        stream_id: StreamId,
        identity: Identity,
    ) -> Result<AmqpAppend, Error> {
        let publisher = Publisher::new(amqp, queue(stream)?);
        let stream = stream.to_owned();
        let (turn, numbers) = (Mutex::default(), Mutex::default());
        Ok(AmqpAppend { publisher, stream, stream_id, identity, turn, numbers })
    }

    /// The messages of a batch, with what a Kelda is told of them.
    fn messages(&self, request: &Request) -> Result<Vec<Message>, Error> {
        let batch =
            records::decode_write(&request.body).map_err(|error| Error::Protocol(error.to_string()))?;
        let messages = batch.records().map(|record| self.publisher.message(&record));
        let mut said: Vec<(&str, AMQPValue)> = Vec::new();
        if self.stream_id != UNKNOWN {
            said.push((producer::STREAM, AMQPValue::LongString(self.stream_id.to_string().into())));
        }
        let number = |value: u64| AMQPValue::LongLongInt(i64::try_from(value).unwrap_or(i64::MAX));
        let mut first = 0;
        if let Some(id) = &self.identity.id {
            first = self.numbers.lock().first_of(request.sequence, u64::from(batch.count()));
            said.push((producer::ID, AMQPValue::LongString(id.as_str().into())));
            said.push((producer::EPOCH, number(self.identity.epoch.load(Ordering::Relaxed))));
        }
        let numbered = messages.zip(first..).map(|(message, sequence)| {
            let mut table: FieldTable = message.properties.headers().clone().unwrap_or_default();
            for (name, value) in &said {
                table.insert((*name).into(), value.clone());
            }
            if self.identity.id.is_some() {
                table.insert(producer::SEQUENCE.into(), number(sequence));
                if request.is_new && sequence == first {
                    table.insert(producer::NEW.into(), AMQPValue::Boolean(true));
                }
            }
            if table.inner().is_empty() {
                return message;
            }
            Message { body: message.body, properties: message.properties.with_headers(table) }
        });
        Ok(numbered.collect())
    }
}

impl Append for AmqpAppend {
    fn append(&self, request: Request) -> BoxFuture<'static, Verdict> {
        let messages = self.messages(&request);
        let (publisher, stored) = (self.publisher.clone(), request.stored);
        let (stream, stream_id) = (self.stream.clone(), self.stream_id.to_string());
        let id = self.identity.id.clone();
        // Those behind the first of a run are not to be stored when another run had its number.
        let alone = request.is_new && self.identity.may_be_in_use();
        let epoch = self.identity.epoch.load(Ordering::Relaxed);
        let (mine, next) = oneshot::channel();
        let before = self.turn.lock().replace(next);
        Box::pin(async move {
            if let Some(before) = before {
                // One that gave up lets the next go as well.
                let _ = before.await;
            }
            let sent = async {
                let (mut messages, channel) = (messages?, publisher.channel().await?);
                if alone {
                    let first: Vec<Message> = messages.drain(..1.min(messages.len())).collect();
                    publisher.publish(&channel, first, 0, &stored, || ()).await?;
                }
                publisher.publish(&channel, messages, u32::from(alone), &stored, move || drop(mine)).await
            };
            let published = sent.await.map(|()| Appended {
                first_offset: None,
                next_offset: 0,
                timestamp: None,
                duplicate: false,
            });
            let id_text = id.as_deref().unwrap_or_default();
            let published = published.map_err(|error| typed(&stream, &stream_id, id_text, epoch, error));
            published.map_err(|error| if id.is_some() { error } else { publisher.once(error) })
        })
    }

    fn renew(&mut self) -> Option<u64> {
        *self.numbers.lock() = Numbers::default();
        self.identity.renew()
    }

    fn id(&self) -> Option<&str> {
        self.identity.id.as_deref()
    }

    fn may_be_in_use(&self) -> bool {
        self.identity.may_be_in_use()
    }
}

/// The numbers of messages, by the batch they are in: a batch that is sent again has the numbers that it had.
#[derive(Default)]
struct Numbers {
    first: BTreeMap<u64, u64>,
    next_batch: u64,
    next: u64,
}

impl Numbers {
    fn first_of(&mut self, batch: u64, messages: u64) -> u64 {
        if batch < self.next_batch {
            return self.first.get(&batch).copied().unwrap_or_default();
        }
        let first = self.next;
        (self.next_batch, self.next) = (batch + 1, first + messages);
        self.first.insert(batch, first);
        // No more are under way than a server remembers results of.
        while self.first.len() > PRODUCER_RESULTS_KEPT {
            self.first.pop_first();
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_that_is_sent_again_has_the_numbers_it_had() {
        let mut numbers = Numbers::default();
        let firsts: Vec<u64> =
            [(0, 3), (1, 1), (2, 5)].map(|(batch, count)| numbers.first_of(batch, count)).into();
        assert_eq!(firsts, [0, 3, 4]);
        assert_eq!((numbers.first_of(1, 1), numbers.first_of(2, 5), numbers.first_of(3, 1)), (3, 4, 9));
        for batch in 4..100 {
            numbers.first_of(batch, 1);
        }
        assert_eq!((numbers.first.len(), numbers.first_of(99, 1)), (PRODUCER_RESULTS_KEPT, 105));
    }
}
