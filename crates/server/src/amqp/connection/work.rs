//! What runs beside the reading of frames.
//!
//! Owns the starts of appends and reads and what is done with their results. Guarantees that deliveries of a consumer are in
//! the order of its stream, each once.

use futures::FutureExt;
use futures::future::{AbortHandle, abortable};
use kelda_service::Chunk;

use super::operation::{Begin, Outcome, Step};
use super::session::{ConsumerKey, Ending, LaneKey, Session};
use crate::amqp::channel::Delivered;
use crate::amqp::consumer::{Consumer, News, Place, Work};
use crate::amqp::lane::Appended;
use crate::amqp::message::from_headers;
use crate::amqp::wire::{Method, Short};

/// Something that ran is done.
pub enum Done {
    /// A batch.
    Appended(LaneKey, Appended),
    /// A read or a watch of a consumer of this turn; nothing when it was called off.
    News(ConsumerKey, u64, Option<News>),
}

impl Session {
    /// Starts what can be started and tells what can be told.
    pub fn turn(&mut self) {
        let (service, work) = (&self.amqp.service, &self.work);
        self.lanes.retain(|key, lane| {
            if let Some(append) = lane.start(service, &key.2) {
                let key = key.clone();
                work.push(append.map(move |appended| Done::Appended(key, appended)).boxed());
            }
            !lane.is_idle()
        });
        self.confirm();
        for key in std::mem::take(&mut self.wanting) {
            self.set_to_work(key);
        }
        if let Some((number, turn)) = self.committing
            && !self.lanes.keys().any(|(of, its, _)| (*of, *its) == (number, turn))
        {
            self.committing = None;
            if self.channels.get(&number).is_some_and(|channel| channel.turn == turn && !channel.closing) {
                self.say(number, &Method::TxCommitOk {});
            }
        }
        if self.ending == Ending::Asked && self.lanes.is_empty() {
            self.say(0, &Method::CloseOk {});
            self.ending = Ending::Over;
        }
    }

    fn confirm(&mut self) {
        let mut said = Vec::new();
        for (number, channel) in self.channels.iter_mut().filter(|(_, channel)| !channel.closing) {
            said.extend(channel.confirms().into_iter().map(|confirm| (*number, confirm)));
        }
        for (number, confirm) in said {
            let (delivery, multiple) = (confirm.tag, confirm.multiple);
            let method = if confirm.stored {
                Method::Ack { delivery, multiple }
            } else {
                Method::Nack { delivery, multiple, requeue: false }
            };
            self.say(number, &method);
        }
    }

    /// Lets a consumer read when it has credit, or watch its stream when it has none.
    fn set_to_work(&mut self, key: ConsumerKey) {
        let Some(consumer) = self.consumers.get_mut(&key) else { return };
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
        };
        let credit = consumer.credit;
        let news = match wanted {
            Work::Read => place.read(credit).left_future(),
            Work::Watch => place.watch().right_future(),
        };
        let (news, abort): (_, AbortHandle) = abortable(news);
        consumer.busy = Some((wanted, abort));
        let turn = consumer.turn;
        self.work.push(news.map(move |news| Done::News(key, turn, news.ok())).boxed());
    }

    /// Takes what is done.
    pub fn done(&mut self, done: Done) {
        match done {
            Done::Appended(key, appended) => {
                self.on_their_way.0 -= appended.bytes;
                self.on_their_way.1 -= appended.records;
                if let Some(lane) = self.lanes.get_mut(&key) {
                    lane.landed();
                }
                if let Some(channel) = self.channels.get_mut(&key.0).filter(|channel| channel.turn == key.1) {
                    for (tag, stored) in appended.tags {
                        channel.settle(tag, stored);
                    }
                }
            }
            Done::News(key, turn, Some(news)) => {
                let Some(consumer) = self.consumers.get_mut(&key).filter(|consumer| consumer.turn == turn)
                else {
                    return;
                };
                consumer.busy = None;
                match news {
                    News::Records(chunk) => self.deliver(key, &chunk),
                    News::Gone => {
                        self.leave(&key);
                        if self.cancel_notify {
                            self.say(key.0, &Method::Cancel { tag: key.1, nowait: true });
                        }
                    }
                }
            }
            Done::News(_, _, None) => {}
        }
    }

    fn deliver(&mut self, key: ConsumerKey, chunk: &Chunk) {
        let Some(consumer) = self.consumers.get_mut(&key) else { return };
        let (queue, turn) = (consumer.queue.clone(), consumer.turn);
        let records = chunk.blocks.iter().flat_map(|block| block.records());
        let mut given = 0;
        for stored in records {
            let Some(channel) = self.channels.get_mut(&key.0) else { return };
            let delivery = channel.next_delivery();
            let delivered = Delivered { consumer: key.1.clone(), turn, queue: queue.clone() };
            channel.unacked.insert(delivery, delivered);
            let (exchange, routing_key, properties) =
                from_headers(&stored.record.headers, &queue, stored.offset.0);
            let method =
                Method::Deliver { tag: key.1.clone(), delivery, redelivered: false, exchange, routing_key };
            self.say(key.0, &method);
            self.put_content(key.0, &properties, &stored.record.body);
            given += 1;
        }
        if let Some(consumer) = self.consumers.get_mut(&key) {
            consumer.credit = consumer.credit.saturating_sub(given);
            consumer.next = chunk.next;
        }
        self.wanting.insert(key);
    }

    /// Takes what came of the method that was being carried out.
    pub fn operated(&mut self, outcome: Outcome) {
        self.busy = None;
        let Outcome { number, turn, numbers, step } = outcome;
        let Some(channel) = self.channels.get_mut(&number) else { return };
        if channel.turn != turn || channel.closing || self.ending != Ending::Not {
            return;
        }
        match step {
            Err(refusal) => self.refuse(number, numbers, &refusal),
            Ok(Step::Say(answer)) => self.answer(number, answer),
            Ok(Step::Declared(queue, answer)) => {
                channel.last_queue = queue;
                self.answer(number, answer);
            }
            Ok(Step::Consume(begin)) => self.begin(number, begin),
        }
    }

    fn answer(&mut self, number: u16, answer: Option<Method>) {
        if let Some(answer) = answer {
            self.say(number, &answer);
        }
    }

    fn begin(&mut self, number: u16, begin: Begin) {
        let Begin { tag, queue, name, stream, next, prefetch, nowait } = begin;
        let turn = self.take_turn();
        let consumer = Consumer { turn, queue, name, stream, next, credit: prefetch.into(), busy: None };
        let key: (u16, Short) = (number, tag.clone());
        self.consumers.insert(key.clone(), consumer);
        self.wanting.insert(key);
        if !nowait {
            self.say(number, &Method::ConsumeOk { tag });
        }
    }
}
