//! A channel.
//!
//! Owns what one channel remembers: the content that is coming in, its confirms, what it was delivered and has not
//! acknowledged. Guarantees that each confirm is given once. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};

use super::consumer::Origin;
use super::message::Message;
use super::reply::{self, Refusal};
use super::wire::{Properties, Short};
use crate::http::budget::Hold;

/// Deliveries of a channel, in the order of their tags, with the tags of their consumers.
pub type Unacked = BTreeMap<u64, Delivered>;

/// A delivery that is not acknowledged.
#[derive(Clone, Debug)]
pub struct Delivered {
    /// Where it came from.
    pub origin: Arc<Origin>,
    /// When, by the monotonic clock.
    pub at: Duration,
}

/// A message whose frames are coming in.
#[derive(Debug)]
pub struct Incoming {
    /// What the method said.
    pub message: Message,
    /// Whether it has to reach a queue.
    pub mandatory: bool,
    /// Bytes of the body that are still to come; nothing before the header.
    missing: Option<u64>,
    size: u64,
    body: BytesMut,
    hold: Option<Hold>,
}

/// A message that came whole.
#[derive(Debug)]
pub struct Whole {
    /// The message.
    pub message: Message,
    /// Whether it has to reach a queue.
    pub mandatory: bool,
    /// The room that it takes.
    pub hold: Option<Hold>,
}

/// Messages that wait for their commit.
#[derive(Debug, Default)]
pub struct Held {
    /// In the order in which they came.
    pub messages: Vec<Whole>,
    /// The bytes of their bodies.
    pub bytes: u64,
    /// Deliveries that are acknowledged by the commit, with their tags.
    pub acknowledged: Vec<(u64, Delivered)>,
    /// Where deliveries that are refused by the commit came from.
    pub refused: Vec<Arc<Origin>>,
}

impl Incoming {
    /// A content that a method announced.
    pub fn new(exchange: Short, routing_key: Short, mandatory: bool) -> Incoming {
        let message = Message { exchange, routing_key, ..Message::default() };
        Incoming { message, mandatory, missing: None, size: 0, body: BytesMut::new(), hold: None }
    }

    /// Whether the next frame has to be the header.
    pub fn wants_header(&self) -> bool {
        self.missing.is_none()
    }

    /// Takes the header.
    pub fn header(&mut self, size: u64, properties: Properties) {
        self.missing = Some(size);
        self.size = size;
        self.message.properties = properties;
    }

    /// Takes a part of the body; of a body of more than `max` bytes nothing is kept.
    pub fn body(&mut self, part: Bytes, max: u64) {
        let Some(left) = self.missing.unwrap_or(0).checked_sub(part.len() as u64) else {
            // More than was announced: what follows cannot be right either.
            self.missing = Some(u64::MAX);
            self.body = BytesMut::new();
            return;
        };
        self.missing = Some(left);
        if self.size > max {
            return;
        }
        if left == 0 && self.body.is_empty() {
            self.message.body = Bytes::copy_from_slice(&part);
        } else {
            self.body.extend_from_slice(&part);
        }
    }

    /// Holds the room for what was taken, if anything of it is kept.
    pub fn holds(&mut self, hold: Hold, max: u64) {
        match &mut self.hold {
            _ if self.size > max => self.hold = None,
            Some(held) => held.join(hold),
            none => *none = Some(hold),
        }
    }

    /// Whether a part of the body is there.
    pub fn is_partial(&self) -> bool {
        self.missing.is_some_and(|missing| missing < self.size)
    }

    /// Bytes of the body as they were announced.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Whether all of it is there.
    pub fn is_whole(&self) -> bool {
        self.missing == Some(0)
    }

    /// The message.
    pub fn finish(mut self) -> Whole {
        if !self.body.is_empty() {
            self.message.body = self.body.freeze();
        }
        Whole { message: self.message, mandatory: self.mandatory, hold: self.hold }
    }
}

/// What is known of a message that waits for its confirm.
#[derive(Clone, Copy, Debug)]
struct Unconfirmed {
    /// Streams that it is not durable in yet.
    waiting: usize,
    failed: bool,
}

/// How messages are acknowledged to their publisher.
#[derive(Debug, Default)]
pub enum Mode {
    /// Not at all.
    #[default]
    Plain,
    /// One by one.
    Confirm,
    /// Together, when they are committed.
    Transaction(Held),
}

/// What to tell the publisher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Confirm {
    /// The tag.
    pub tag: u64,
    /// Whether all before it are meant too.
    pub multiple: bool,
    /// Whether it is durable; refused otherwise.
    pub stored: bool,
}

/// One channel.
#[derive(Debug)]
pub struct Channel {
    /// Which of the channels that had this number, one after the other.
    pub turn: u64,
    /// Whether everything is ignored until the peer agrees that the channel is closed.
    pub closing: bool,
    /// The content that is coming in.
    pub incoming: Option<Incoming>,
    /// How messages are acknowledged.
    pub mode: Mode,
    /// The prefetch for consumers to come.
    pub prefetch: u16,
    /// Whether there is one for all consumers together, which streams have not.
    pub channel_prefetch: bool,
    /// The queue that was declared last.
    pub last_queue: Short,
    /// What was delivered.
    pub unacked: Unacked,
    deliveries: u64,
    published: u64,
    unconfirmed: BTreeMap<u64, Unconfirmed>,
    settled: Vec<(u64, bool)>,
}

impl Channel {
    /// A channel that was opened.
    pub fn new(turn: u64) -> Channel {
        Channel {
            turn,
            closing: false,
            incoming: None,
            mode: Mode::Plain,
            prefetch: 0,
            channel_prefetch: false,
            last_queue: Short::default(),
            unacked: Unacked::new(),
            deliveries: 0,
            published: 0,
            unconfirmed: BTreeMap::new(),
            settled: Vec::new(),
        }
    }

    /// The tag of the next delivery.
    pub fn next_delivery(&mut self) -> u64 {
        self.deliveries += 1;
        self.deliveries
    }

    /// Counts a message, which goes to so many streams; its tag, if it is to be confirmed.
    pub fn published(&mut self, streams: usize) -> Option<u64> {
        if !matches!(self.mode, Mode::Confirm) {
            return None;
        }
        self.published += 1;
        let tag = self.published;
        if streams == 0 {
            self.settled.push((tag, true));
        } else {
            self.unconfirmed.insert(tag, Unconfirmed { waiting: streams, failed: false });
        }
        Some(tag)
    }

    /// A message is in one of its streams, or will not be.
    pub fn settle(&mut self, tag: u64, stored: bool) {
        let Some(state) = self.unconfirmed.get_mut(&tag) else { return };
        state.waiting -= 1;
        state.failed |= !stored;
        if state.waiting == 0 {
            let stored = !state.failed;
            self.unconfirmed.remove(&tag);
            self.settled.push((tag, stored));
        }
    }

    /// Whether the oldest delivery that is not acknowledged is as old as this.
    pub fn is_overdue(&self, now: Duration, limit: Duration) -> bool {
        let oldest = self.unacked.first_key_value();
        oldest.is_some_and(|(_, delivered)| now.saturating_sub(delivered.at) >= limit)
    }

    /// Messages that were stored since the last confirms.
    pub fn stored_since(&self) -> u64 {
        self.settled.iter().filter(|(_, stored)| *stored).count() as u64
    }

    /// The confirms of what was settled since, in ascending order; one for many where that says the same.
    pub fn confirms(&mut self) -> Vec<Confirm> {
        let mut settled = std::mem::take(&mut self.settled);
        settled.sort_unstable();
        let open = self.unconfirmed.keys().next().copied().unwrap_or(u64::MAX);
        let mut confirms: Vec<Confirm> = Vec::new();
        for (tag, stored) in settled {
            match confirms.last_mut() {
                // Everything below the first open one is settled, and what was settled before is known to the peer.
                Some(last) if last.stored == stored && tag < open => {
                    *last = Confirm { tag, multiple: true, stored };
                }
                _ => confirms.push(Confirm { tag, multiple: false, stored }),
            }
        }
        confirms
    }

    /// Takes off what an acknowledgement is about.
    pub fn take(&mut self, delivery: u64, multiple: bool) -> Result<Unacked, Refusal> {
        let unknown = || reply::precondition_failed(format!("unknown delivery tag {delivery}"));
        match (delivery, multiple) {
            (0, true) => Ok(std::mem::take(&mut self.unacked)),
            (tag, true) if self.unacked.contains_key(&tag) => {
                let rest = self.unacked.split_off(&(tag + 1));
                Ok(std::mem::replace(&mut self.unacked, rest))
            }
            (tag, _) => self.unacked.remove(&tag).map(|one| [(tag, one)].into()).ok_or_else(unknown),
        }
    }
}

#[cfg(test)]
mod tests;
