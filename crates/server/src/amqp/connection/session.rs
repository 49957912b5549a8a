//! What a connection is in the midst of.
//!
//! Owns channels, consumers, messages on their way, and what is to be written. Frames go in and bytes come out; nothing in
//! here waits. Guarantees that a fault in a channel ends that channel and one in the connection ends the connection.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::BytesMut;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use kelda_format::StreamName;

use super::handshake::Opened;
use super::operation::Outcome;
use super::room::Stalled;
use super::work::Done;
use crate::amqp::channel::Channel;
use crate::amqp::consumer::Consumer;
use crate::amqp::counts::Share;
use crate::amqp::exchange::cache::Routes;
use crate::amqp::lane::Lane;
use crate::amqp::listener::Amqp;
use crate::amqp::reply::{self, Refusal, Scope};
use crate::amqp::term;
use crate::amqp::wire::{Frame, FrameFault, FrameKind, Method, Short, put_frame};
use crate::http::budget::Hold;

/// Bytes of messages on their way, from which on nothing is read.
const LANE_BYTES: u64 = 32 << 20;
/// Messages on their way, from which on nothing is read.
const LANE_RECORDS: usize = 20_000;

/// Bytes of a frame that an error shows.
const SHOWN_OCTETS: usize = 16;

/// Bytes that wait for the socket before nothing more is made for it.
pub const OUT_BYTES: usize = 512 << 10;

/// A consumer: channel and tag.
pub type ConsumerKey = (u16, Short);
/// Messages of one channel for one stream: number and turn of the channel, and the stream.
pub type LaneKey = (u16, u64, StreamName);

/// How far the end of the connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It goes on.
    Not,
    /// The peer closes it; what it sent is being stored.
    Asked,
    /// The peer was told and has to agree.
    Told,
    /// It is over.
    Over,
}

/// A transaction that is being committed.
#[derive(Clone, Copy, Debug)]
pub struct Commit {
    /// The channel.
    pub number: u16,
    /// Its turn.
    pub turn: u64,
    /// Whether a message could not be stored.
    pub failed: bool,
}

/// One connection after its opening.
pub struct Session {
    /// What connections share.
    pub amqp: Arc<Amqp>,
    /// The virtual host.
    pub vhost: Short,
    /// Who it is.
    pub user: String,
    /// Bytes of a frame.
    pub frame_max: usize,
    /// Channels at once.
    pub channel_max: u16,
    /// Whether the peer wants to hear of consumers that end without its doing.
    pub cancel_notify: bool,
    /// Whether the peer wants to hear that it has to wait.
    pub tells_blocked: bool,
    /// Routes that were found before.
    pub routes: Routes,
    /// A part of a content that waits for room, and the wait for it; nothing is read until it is over.
    pub stalled: Option<Stalled>,
    /// The wait for room.
    pub room: Option<BoxFuture<'static, Option<Hold>>>,
    /// What is to be written.
    pub out: BytesMut,
    /// Open channels.
    pub channels: BTreeMap<u16, Channel>,
    /// Consumers.
    pub consumers: BTreeMap<ConsumerKey, Consumer>,
    /// Consumers, with their turns, whose streams are gone while a method is being carried out.
    pub gone: Vec<(ConsumerKey, u64)>,
    /// Consumers that could be given something to do.
    pub wanting: BTreeSet<ConsumerKey>,
    /// The consumer that was served last.
    pub served: Option<ConsumerKey>,
    /// What of this connection is counted.
    pub share: Share,
    /// Messages on their way.
    pub lanes: BTreeMap<LaneKey, Lane>,
    /// Bytes and messages in all lanes.
    pub on_their_way: (u64, usize),
    /// What runs beside.
    pub work: FuturesUnordered<BoxFuture<'static, Done>>,
    /// The one method that is being carried out; nothing is read until it is.
    pub busy: Option<BoxFuture<'static, Outcome>>,
    /// A channel whose transaction is being committed; nothing is read until it is.
    pub committing: Option<Commit>,
    /// How far the end is.
    pub ending: Ending,
    turns: u64,
}

/// The first bytes of a payload, as errors show them.
fn octets(payload: &[u8]) -> String {
    match payload.get(..SHOWN_OCTETS) {
        Some(first) if payload.len() > SHOWN_OCTETS => {
            format!("first {SHOWN_OCTETS} octets = {}", term::binary(first))
        }
        _ => format!("all octets = {}", term::binary(payload)),
    }
}

/// Waits for what is being carried out.
pub async fn busy<T>(busy: &mut Option<BoxFuture<'static, T>>) -> T {
    match busy {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}

impl Session {
    /// A connection that was just opened.
    pub fn new(amqp: Arc<Amqp>, opened: Opened) -> Session {
        let share = Share::new(Arc::clone(&amqp.counts));
        Session {
            amqp,
            share,
            served: None,
            vhost: opened.vhost,
            user: opened.user,
            frame_max: opened.frame_max as usize,
            channel_max: opened.channel_max,
            cancel_notify: opened.cancel_notify,
            tells_blocked: opened.tells_blocked,
            routes: Routes::default(),
            stalled: None,
            room: None,
            out: BytesMut::new(),
            channels: BTreeMap::new(),
            consumers: BTreeMap::new(),
            wanting: BTreeSet::new(),
            gone: Vec::new(),
            lanes: BTreeMap::new(),
            on_their_way: (0, 0),
            work: FuturesUnordered::new(),
            busy: None,
            committing: None,
            ending: Ending::Not,
            turns: 0,
        }
    }

    /// A number that is given once.
    pub fn take_turn(&mut self) -> u64 {
        self.turns += 1;
        self.turns
    }

    /// Whether the next frame may come.
    pub fn takes_input(&self) -> bool {
        let (bytes, records) = self.on_their_way;
        let room = bytes < LANE_BYTES && records < LANE_RECORDS;
        let free = self.busy.is_none() && self.committing.is_none() && self.room.is_none() && room;
        match self.ending {
            Ending::Not => free,
            Ending::Told => true,
            Ending::Asked | Ending::Over => false,
        }
    }

    /// Whether there is nothing left but to write what is to be written.
    pub fn is_over(&self) -> bool {
        self.ending == Ending::Over
    }

    /// Whether the peer wants to end it.
    pub fn is_asked(&self) -> bool {
        self.ending == Ending::Asked
    }

    /// Whether the peer is awaited for the last time.
    pub fn is_closing(&self) -> bool {
        self.ending == Ending::Told
    }

    /// Whether messages are on their way.
    pub fn has_messages(&self) -> bool {
        !self.lanes.is_empty()
    }

    /// Writes a method.
    pub fn say(&mut self, channel: u16, method: &Method) {
        put_frame(&mut self.out, FrameKind::Method, channel, |out| method.put(out));
    }

    /// Writes a sign of life.
    pub fn beat(&mut self) {
        put_frame(&mut self.out, FrameKind::Heartbeat, 0, |_| {});
    }

    /// Tells a fault, which ends the channel or the connection.
    pub fn refuse(&mut self, channel: u16, numbers: (u16, u16), refusal: &Refusal) {
        let (class, method) = if refusal.of_method { numbers } else { (0, 0) };
        let (code, text) = (refusal.code, refusal.told());
        tracing::debug!(channel, code, text = refusal.text, "an AMQP request is refused");
        if refusal.scope == Scope::Channel && self.channels.contains_key(&channel) {
            self.leave_consumers(channel);
            if let Some(channel) = self.channels.get_mut(&channel) {
                channel.closing = true;
                channel.incoming = None;
            }
            self.say(channel, &Method::ChannelClose { code, text, class, method });
        } else if self.ending == Ending::Not {
            self.end_consumers();
            self.ending = Ending::Told;
            self.say(0, &Method::Close { code, text, class, method });
        }
    }

    /// Takes bytes that are no frame.
    pub fn bad_frame(&mut self, fault: &FrameFault) {
        let text = match fault {
            FrameFault::Unknown(kind, payload) => format!("type {kind}, {}: unknown_frame", octets(payload)),
            FrameFault::TooLarge(kind, size, max) => {
                format!("type {kind}, all octets = <<>>: {{frame_too_large,{size},{max}}}")
            }
            FrameFault::End(kind, payload, end) => {
                format!("type {kind}, {}: {{invalid_frame_end_marker,{end}}}", octets(payload))
            }
        };
        if self.ending == Ending::Told {
            self.ending = Ending::Over;
        }
        self.refuse(0, (0, 0), &reply::frame_error(text).of_nothing());
        // Nothing that follows can be read.
        self.ending = Ending::Over;
    }

    /// Takes a frame.
    pub fn frame(&mut self, frame: Frame) {
        if frame.channel == 0 && matches!(frame.kind, FrameKind::Header | FrameKind::Body)
            || frame.channel != 0 && frame.kind == FrameKind::Heartbeat
        {
            if self.ending == Ending::Not {
                let text = format!("type {}, {}", frame.kind as u8, octets(&frame.payload));
                self.refuse(0, (0, 0), &reply::unexpected_frame(text).of_nothing());
            }
            return;
        }
        if frame.kind == FrameKind::Heartbeat {
            return;
        }
        let number = frame.channel;
        let method = match frame.kind {
            FrameKind::Method => match Method::get(frame.payload) {
                Ok(Some(method)) if !method.is_text() => {
                    let refusal = reply::frame_error("Malformed UTF-8 in shortstr");
                    let numbers = if number == 0 { method.numbers() } else { (0, 0) };
                    return self.refuse(0, numbers, &refusal);
                }
                Ok(Some(method)) => method,
                Ok(None) => {
                    let refusal = reply::command_invalid("unknown method").of_nothing();
                    return self.refuse(0, (0, 0), &refusal);
                }
                Err((numbers, rest)) => {
                    let octets: Vec<String> = rest.iter().take(64).map(u8::to_string).collect();
                    let refusal = reply::frame_error(format!("cannot decode <<{}>>", octets.join(",")));
                    return self.refuse(0, numbers, &refusal);
                }
            },
            _ if self.ending == Ending::Told => return,
            _ => return self.content(frame),
        };
        match (self.ending, &method) {
            (Ending::Told, Method::CloseOk {}) => self.ending = Ending::Over,
            (Ending::Told, Method::Close { .. }) => {
                self.say(0, &Method::CloseOk {});
                self.ending = Ending::Over;
            }
            (Ending::Told, _) => {}
            _ => self.method(frame.channel, method),
        }
    }

    /// Ends the consumers of a channel.
    pub fn leave_consumers(&mut self, channel: u16) {
        let keys: Vec<_> = self.consumers.keys().filter(|(of, _)| *of == channel).cloned().collect();
        keys.iter().for_each(|key| self.leave(key));
    }

    /// Ends all consumers.
    pub fn end_consumers(&mut self) {
        let keys: Vec<_> = self.consumers.keys().cloned().collect();
        keys.iter().for_each(|key| self.leave(key));
    }

    /// Ends a consumer.
    pub fn leave(&mut self, key: &ConsumerKey) {
        if let Some(consumer) = self.consumers.remove(key)
            && let Some((_, abort)) = consumer.busy
        {
            abort.abort();
        }
        self.wanting.remove(key);
    }
}
