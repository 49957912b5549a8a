//! Methods of a client.
//!
//! Owns what each one does to the connection and its channels. Guarantees that a method which does not belong where it came
//! is answered with the code that says so.

use std::sync::Arc;

use super::operation::{self, Request};
use super::session::{Commit, Ending, Session};
use crate::amqp::channel::{Channel, Delivered, Held, Incoming, Mode};
use crate::amqp::consumer::Origin;
use crate::amqp::exchange::route;
use crate::amqp::queue::{self, tag};
use crate::amqp::reply::{self, Refusal};
use crate::amqp::wire::{Method, Short};

/// What answers a method that needs nothing but the channel.
type Answer = Result<Option<Method>, Refusal>;

impl Session {
    /// Takes a method.
    pub fn method(&mut self, number: u16, method: Method) {
        if number == 0 {
            return self.connection_method(method);
        }
        let numbers = method.numbers();
        match self.channels.get_mut(&number) {
            None => match method {
                Method::ChannelOpen { .. } => self.open_channel(number),
                _ => self.refuse(number, numbers, &reply::channel_error("expected 'channel.open'")),
            },
            Some(channel) if channel.closing => match method {
                Method::ChannelCloseOk {} => drop(self.channels.remove(&number)),
                Method::ChannelClose { .. } => self.say(number, &Method::ChannelCloseOk {}),
                _ => {}
            },
            Some(channel) => {
                if let Some(incoming) = &channel.incoming {
                    let refusal = misplaced(incoming);
                    return self.refuse(number, (60, 40), &refusal);
                }
                match self.channel_method(number, method) {
                    Ok(None) => {}
                    Ok(Some(answer)) => self.say(number, &answer),
                    Err(refusal) => self.refuse(number, numbers, &refusal),
                }
            }
        }
    }

    fn connection_method(&mut self, method: Method) {
        match method {
            Method::Close { .. } => {
                self.end_consumers();
                self.ending = Ending::Asked;
            }
            Method::UpdateSecret { .. } => self.say(0, &Method::UpdateSecretOk {}),
            other => {
                let refusal = reply::channel_error("unexpected method in connection state running");
                self.refuse(0, other.numbers(), &refusal);
            }
        }
    }

    fn open_channel(&mut self, number: u16) {
        let (open, most) = (self.channels.len(), usize::from(self.channel_max));
        if open >= most {
            let text =
                format!("number of channels opened ({open}) has reached the negotiated channel_max ({most})");
            return self.refuse(number, (0, 0), &reply::not_allowed(text).of_nothing());
        }
        let turn = self.take_turn();
        self.channels.insert(number, Channel::new(turn));
        self.say(number, &Method::ChannelOpenOk { id: bytes::Bytes::new() });
    }

    fn channel_method(&mut self, number: u16, method: Method) -> Answer {
        match method {
            Method::ChannelOpen { .. } => Err(reply::channel_error("second 'channel.open' seen")),
            Method::ChannelClose { .. } => {
                self.leave_consumers(number);
                self.channels.remove(&number);
                Ok(Some(Method::ChannelCloseOk {}))
            }
            // Of older versions of the protocol; nothing asks for the ticket.
            Method::AccessRequest { .. } => Ok(Some(Method::AccessRequestOk { ticket: 1 })),
            Method::ChannelFlow { active: true } => Ok(Some(Method::ChannelFlowOk { active: true })),
            Method::ChannelFlow { active: false } => Err(reply::not_implemented("active=false")),
            Method::Publish { exchange, routing_key, mandatory, immediate, .. } => {
                if immediate {
                    return Err(reply::not_implemented("immediate=true"));
                }
                self.channel(number).incoming = Some(Incoming::new(exchange, routing_key, mandatory));
                Ok(None)
            }
            Method::ConfirmSelect { .. }
            | Method::TxSelect {}
            | Method::TxCommit {}
            | Method::TxRollback {} => self.mode(number, &method),
            Method::Qos { .. }
            | Method::Ack { .. }
            | Method::Nack { .. }
            | Method::Reject { .. }
            | Method::Recover { .. }
            | Method::RecoverAsync { .. }
            | Method::Cancel { .. } => self.consuming(number, method),
            other => self.request(number, other),
        }
    }

    /// The channel of this number, which is open.
    pub(super) fn channel(&mut self, number: u16) -> &mut Channel {
        // Whoever asks has seen it; a fresh one in its place would harm nobody.
        self.channels.entry(number).or_insert_with(|| Channel::new(0))
    }

    fn mode(&mut self, number: u16, method: &Method) -> Answer {
        let channel = self.channel(number);
        match (method, &mut channel.mode) {
            (Method::ConfirmSelect { .. }, Mode::Transaction(_)) => {
                Err(reply::precondition_failed("cannot switch from tx to confirm mode"))
            }
            (Method::ConfirmSelect { nowait }, _) => {
                channel.mode = Mode::Confirm;
                Ok((!nowait).then_some(Method::ConfirmSelectOk {}))
            }
            (Method::TxSelect {}, Mode::Confirm) => {
                Err(reply::precondition_failed("cannot switch from confirm to tx mode"))
            }
            (Method::TxSelect {}, Mode::Transaction(_)) => Ok(Some(Method::TxSelectOk {})),
            (Method::TxSelect {}, Mode::Plain) => {
                channel.mode = Mode::Transaction(Held::default());
                Ok(Some(Method::TxSelectOk {}))
            }
            (Method::TxCommit {}, Mode::Transaction(held)) => {
                let (held, turn) = (std::mem::take(held), channel.turn);
                for whole in held.messages {
                    self.send(number, whole)?;
                }
                self.kept_anyway(&held.refused)?;
                self.credit(number, held.acknowledged.into_iter().map(|(_, delivered)| delivered));
                self.committing = Some(Commit { number, turn, failed: false });
                Ok(None)
            }
            (Method::TxRollback {}, Mode::Transaction(held)) => {
                let held = std::mem::take(held);
                // As if they had not been acknowledged.
                channel.unacked.extend(held.acknowledged);
                Ok(Some(Method::TxRollbackOk {}))
            }
            _ => Err(reply::precondition_failed("channel is not transactional")),
        }
    }

    fn consuming(&mut self, number: u16, method: Method) -> Answer {
        match method {
            Method::Qos { size, .. } if size != 0 => {
                Err(reply::not_implemented(format!("prefetch_size!=0 ({size})")))
            }
            Method::Qos { count, global, .. } => {
                // What is for the whole channel bounds no stream consumer that is there, and lets none begin; the last
                // word counts.
                let channel = self.channel(number);
                channel.channel_prefetch = global && count > 0;
                if !global {
                    channel.prefetch = count;
                }
                Ok(Some(Method::QosOk {}))
            }
            Method::Ack { delivery, multiple } => {
                let channel = self.channel(number);
                let taken = channel.take(delivery, multiple)?;
                match &mut channel.mode {
                    Mode::Transaction(held) => held.acknowledged.extend(taken),
                    _ => self.credit(number, taken.into_values()),
                }
                Ok(None)
            }
            Method::Nack { delivery, multiple, .. } => self.give_back(number, delivery, multiple),
            Method::Reject { delivery, .. } => self.give_back(number, delivery, false),
            Method::Recover { requeue: false } | Method::RecoverAsync { requeue: false } => {
                Err(reply::not_implemented("requeue=false"))
            }
            // What a stream delivered stays where it is, so there is nothing to bring back.
            Method::Recover { .. } => Ok(Some(Method::RecoverOk {})),
            Method::Cancel { tag, nowait } => {
                self.leave(&(number, tag.clone()));
                Ok((!nowait).then_some(Method::CancelOk { tag }))
            }
            _ => Ok(None),
        }
    }

    /// Lets consumers have as much more as was acknowledged.
    fn credit(&mut self, number: u16, acknowledged: impl Iterator<Item = Delivered>) {
        for delivered in acknowledged {
            self.amqp.counts.acknowledged.add(1);
            let key = (number, delivered.origin.tag.clone());
            if let Some(consumer) = self.consumers.get_mut(&key)
                && consumer.origin.turn == delivered.origin.turn
            {
                consumer.credit += 1;
                self.wanting.insert(key);
            }
        }
    }

    fn give_back(&mut self, number: u16, delivery: u64, multiple: bool) -> Answer {
        let channel = self.channel(number);
        let given = channel.take(delivery, multiple)?;
        let mut origins: Vec<Arc<Origin>> = Vec::new();
        for delivered in given.values() {
            if origins.iter().all(|origin| origin.turn != delivered.origin.turn) {
                origins.push(Arc::clone(&delivered.origin));
            }
        }
        match &mut channel.mode {
            Mode::Transaction(held) => {
                held.refused.extend(origins);
                held.acknowledged.extend(given);
            }
            _ => self.kept_anyway(&origins)?,
        }
        Ok(None)
    }

    /// What a stream delivered cannot be refused, as long as it is there.
    fn kept_anyway(&self, origins: &[Arc<Origin>]) -> Result<(), Refusal> {
        let view = self.amqp.meta.view();
        let is_there = |origin: &&Arc<Origin>| {
            let found = route::queue(&view, self.vhost.bytes(), origin.queue.bytes());
            found.is_some_and(|(_, stream)| stream == origin.stream)
        };
        let Some(origin) = origins.iter().find(is_there) else { return Ok(()) };
        let queue = queue::described(&origin.queue, &self.vhost);
        let text = format!("basic.nack and basic.reject not supported by stream queues {queue}");
        Err(reply::not_implemented(text))
    }

    /// What has to ask the service: one such method at a time.
    fn request(&mut self, number: u16, method: Method) -> Answer {
        if method.is_too_deep() {
            return Err(reply::too_deep());
        }
        let vhost = self.vhost.clone();
        let channel = self.channel(number);
        let (turn, prefetch, channel_prefetch) = (channel.turn, channel.prefetch, channel.channel_prefetch);
        let last = |queue: Short| {
            let queue = if queue.is_empty() { channel.last_queue.clone() } else { queue };
            let is_known = !queue.is_empty();
            is_known.then_some(queue).ok_or_else(|| reply::not_found("no previously declared queue"))
        };
        let method = match method {
            Method::QueueBind { ticket, queue, exchange, routing_key, nowait, arguments } => {
                let is_short = queue.is_empty() && routing_key.is_empty();
                let queue = last(queue)?;
                // Without both of them, the queue's name is the key.
                let routing_key = if is_short { queue.clone() } else { routing_key };
                Method::QueueBind { ticket, queue, exchange, routing_key, nowait, arguments }
            }
            Method::QueueUnbind { ticket, queue, exchange, routing_key, arguments } => {
                Method::QueueUnbind { ticket, queue: last(queue)?, exchange, routing_key, arguments }
            }
            Method::QueueDelete { ticket, queue, if_unused, if_empty, nowait } => {
                Method::QueueDelete { ticket, queue: last(queue)?, if_unused, if_empty, nowait }
            }
            Method::QueuePurge { ticket, queue, nowait } => {
                Method::QueuePurge { ticket, queue: last(queue)?, nowait }
            }
            Method::Get { ticket, queue, no_ack } => Method::Get { ticket, queue: last(queue)?, no_ack },
            Method::Consume { ticket, queue, tag, no_local, no_ack, exclusive, nowait, arguments } => {
                let queue = last(queue)?;
                // Its place is known when the service was asked.
                let chosen = tag.is_empty() && !tag::asks_for_place(&arguments);
                let tag = if chosen { tag::plain(self.amqp.env.random.nonce()) } else { tag };
                if self.consumers.contains_key(&(number, tag.clone())) {
                    let text = format!("attempt to reuse consumer tag '{}'", tag.text());
                    return Err(reply::not_allowed(text));
                }
                self.room_for_consumer(number)?;
                Method::Consume { ticket, queue, tag, no_local, no_ack, exclusive, nowait, arguments }
            }
            other => other,
        };
        let request = Request { amqp: self.amqp.clone(), vhost, number, turn, prefetch, channel_prefetch };
        self.busy = Some(operation::start(request, method));
        Ok(None)
    }
}

/// A frame that is not the part of a content that has to come next.
pub(super) fn misplaced(incoming: &Incoming) -> Refusal {
    let text = if incoming.wants_header() {
        "expected content header for class 60, got non content header frame instead"
    } else {
        "expected content body, got non content body frame instead"
    };
    reply::unexpected_frame(text)
}
