//! Deliveries.
//!
//! Owns the starts of reads, the way of records to the socket and what ends a consumer that acknowledges nothing. Guarantees
//! that deliveries of a consumer are in the order of its stream, each once, and that what waits for the socket is bounded.

use std::sync::Arc;

use bytes::BytesMut;
use futures::FutureExt;
use futures::future::{AbortHandle, abortable};

use super::operation::Begin;
use super::session::{ConsumerKey, OUT_BYTES, Session};
use super::work::Done;
use crate::amqp::channel::{Channel, Delivered};
use crate::amqp::consumer::{CHANNEL_CONSUMERS, CONNECTION_CONSUMERS, Consumer, Origin, Place, Work};
use crate::amqp::message::from_headers;
use crate::amqp::reply::{self, Refusal};
use crate::amqp::wire::{Method, Short};

impl Session {
    /// Serves the consumers in turn, beginning behind the one that was served last: none waits for the end of another.
    pub(super) fn serve_consumers(&mut self) {
        let mut keys: Vec<_> = std::mem::take(&mut self.wanting).into_iter().collect();
        let behind = self.served.as_ref().map_or(0, |last| keys.partition_point(|key| key <= last));
        let first = behind % keys.len().max(1);
        keys.rotate_left(first);
        for key in keys {
            self.deliver(&key);
            self.set_to_work(key);
        }
    }

    /// Lets a consumer read when it has credit, or watch its stream when it has none.
    fn set_to_work(&mut self, key: ConsumerKey) {
        let Some(consumer) = self.consumers.get_mut(&key) else { return };
        if consumer.page.is_some() && consumer.credit > 0 {
            // The socket is full; it goes on when that has taken some.
            self.wanting.insert(key);
            return;
        }
        let wanted = if consumer.credit > 0 { Work::Read } else { Work::Watch };
        match &consumer.busy {
            Some((work, _)) if *work == wanted || *work == Work::Read => return,
            Some((_, abort)) => abort.abort(),
            None => {}
        }
        let place = Place {
            env: self.amqp.env.clone(),
            service: self.amqp.service.clone(),
            name: consumer.name.clone(),
            stream: consumer.stream,
            from: consumer.next,
            filter: consumer.filter.clone(),
        };
        let news = match wanted {
            Work::Read => place.read().left_future(),
            Work::Watch => place.watch().right_future(),
        };
        let (news, abort): (_, AbortHandle) = abortable(news);
        consumer.busy = Some((wanted, abort));
        let turn = consumer.origin.turn;
        self.work.push(news.map(move |news| Done::News(key, turn, news.ok())).boxed());
    }

    /// Delivers of a consumer's page what its credit and the socket have room for.
    fn deliver(&mut self, key: &ConsumerKey) {
        let Some(mut page) = self.consumers.get_mut(key).and_then(|consumer| consumer.page.take()) else {
            return;
        };
        let now = self.amqp.env.clock.monotonic();
        while self.out.len() < OUT_BYTES {
            let (Some(consumer), Some(channel)) =
                (self.consumers.get_mut(key), self.channels.get_mut(&key.0))
            else {
                return;
            };
            if consumer.credit == 0 {
                break;
            }
            let Some(stored) = page.take() else { break };
            consumer.credit -= 1;
            consumer.next = stored.offset.plus(1);
            let origin = Arc::clone(&consumer.origin);
            let delivery = channel.next_delivery();
            let (exchange, routing_key, properties) =
                from_headers(&stored.record.headers, &origin.queue, stored.offset.0);
            let tag = origin.tag.clone();
            channel.unacked.insert(delivery, Delivered { origin, at: now });
            let method = Method::Deliver { tag, delivery, redelivered: false, exchange, routing_key };
            self.say(key.0, &method);
            self.put_content(key.0, &properties, &stored.record.body);
            self.amqp.counts.delivered.add(1);
        }
        let Some(consumer) = self.consumers.get_mut(key) else { return };
        if page.is_empty() {
            consumer.next = page.next;
        } else {
            consumer.page = Some(page);
        }
        self.served = Some(key.clone());
    }

    /// Begins to deliver.
    pub(super) fn begin(&mut self, number: u16, begin: Begin) {
        let Begin { tag, queue, name, stream, next, filter, prefetch, nowait } = begin;
        let origin = Arc::new(Origin { tag: tag.clone(), turn: self.take_turn(), queue, stream });
        let (credit, page, busy) = (prefetch.into(), None, None);
        let consumer = Consumer { origin, name, stream, next, credit, filter, page, busy };
        let key: (u16, Short) = (number, tag.clone());
        self.consumers.insert(key.clone(), consumer);
        self.wanting.insert(key);
        if !nowait {
            self.say(number, &Method::ConsumeOk { tag });
        }
    }

    /// Refuses one consumer more than there may be.
    pub(super) fn room_for_consumer(&self, number: u16) -> Result<(), Refusal> {
        let of_channel = self.consumers.keys().filter(|(of, _)| *of == number).count();
        for (count, most, place) in [
            (of_channel, CHANNEL_CONSUMERS, "channel"),
            (self.consumers.len(), CONNECTION_CONSUMERS, "connection"),
        ] {
            if count >= most {
                return Err(reply::not_allowed(format!("reached maximum ({most}) of consumers per {place}")));
            }
        }
        Ok(())
    }

    /// What is looked at from time to time: deliveries that nobody acknowledges, and memory that is held for nothing.
    pub fn tick(&mut self) {
        let (now, limit) = (self.amqp.env.clock.monotonic(), self.amqp.consumer_timeout);
        let overdue = |(number, channel): (&u16, &Channel)| {
            (!channel.closing && channel.is_overdue(now, limit)).then_some(*number)
        };
        for number in self.channels.iter().filter_map(overdue).collect::<Vec<_>>() {
            let text = format!(
                "delivery acknowledgement on channel {number} timed out. Timeout value used: {} ms. This timeout value \
                 can be configured, see consumers doc guide to learn more",
                limit.as_millis()
            );
            self.refuse(number, (0, 0), &reply::precondition_failed(text).of_nothing());
        }
        for consumer in self.consumers.values_mut().filter(|consumer| consumer.credit == 0) {
            consumer.page = None;
        }
        if self.out.is_empty() {
            self.out = BytesMut::new();
        }
    }
}
