//! Publishing.
//!
//! Owns the way of a message from its frames to the lanes of its streams. Guarantees that what reaches no queue is returned
//! before it is confirmed, when its publisher asked for that.

use kelda_format::limits::MAX_RECORD_BYTES;
use kelda_format::record::Record;
use kelda_format::{StreamName, Value};
use kelda_service::{Caller, Operation};
use std::sync::Arc;

use super::methods::misplaced;
use super::operation::no_exchange;
use super::session::Session;
use crate::amqp::channel::{Mode, Whole};
use crate::amqp::exchange::cache::Queues;
use crate::amqp::exchange::route;
use crate::amqp::lane::Waiting;
use crate::amqp::message::{BCC, Message, to_headers};
use crate::amqp::name;
use crate::amqp::producer;
use crate::amqp::reply::{self, Refusal};
use crate::amqp::term;
use crate::amqp::wire::{BASIC, Field, Frame, FrameKind, Method, Other, Properties, Short, Table, put_frame};
use crate::http::budget::Hold;

/// Who wants to be answered without a queue; nobody can be.
const DIRECT_REPLY: &[u8] = b"amq.rabbitmq.reply-to";
/// The longest life of a message, in milliseconds: ten years.
const MOST_EXPIRATION: i128 = 315_360_000_000;

/// The method that a content belongs to.
pub(super) const PUBLISH: (u16, u16) = (60, 40);
/// Most messages that a transaction holds.
const TRANSACTION_MESSAGES: usize = 10_000;
/// Most bytes of bodies that a transaction holds: one of the largest.
const TRANSACTION_BYTES: u64 = MAX_BODY;
/// Most bytes of a body.
pub(super) const MAX_BODY: u64 = MAX_RECORD_BYTES as u64;

/// Why the life of a message is none, if it is.
fn wrong_expiration(text: &[u8]) -> Option<String> {
    let signed = text.strip_prefix(b"+").or_else(|| text.strip_prefix(b"-")).unwrap_or(text);
    let digits = signed.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = signed.split_at(digits);
    if digits.is_empty() {
        return Some("no_integer".to_owned());
    }
    if !rest.is_empty() {
        return Some(format!("{{leftover_string,{}}}", term::list(rest)));
    }
    // A number of so many digits is too large, whatever it is.
    let number: i128 = std::str::from_utf8(digits).ok()?.parse().unwrap_or(i128::MAX);
    match number {
        1.. if text.starts_with(b"-") => Some(format!("{{value_negative,-{number}}}")),
        number if number > MOST_EXPIRATION => Some(format!("{{value_too_large,{number}}}")),
        _ => None,
    }
}

/// The routing keys beside the first.
fn more_keys(properties: &Properties) -> Result<Vec<Short>, Refusal> {
    let mut keys = Vec::new();
    for header in ["CC", BCC] {
        match properties.headers.as_ref().and_then(|table| table.value(header)) {
            None => {}
            Some(Value::Array(more)) => keys.extend(more.iter().filter_map(|value| match value {
                Value::Text(text) => Short::of(bytes::Bytes::copy_from_slice(text.as_bytes())),
                _ => None,
            })),
            Some(other) => {
                let kind = crate::amqp::queue::arguments::type_name(other);
                let text = format!("invalid message: {{unacceptable_type_in_header,\"{header}\",{kind}}}");
                return Err(reply::precondition_failed(text));
            }
        }
    }
    Ok(keys)
}

impl Session {
    /// Takes a part of a content, whose room is held.
    pub(super) fn content_part(&mut self, frame: Frame, hold: Hold) {
        let number = frame.channel;
        let Some(channel) = self.channels.get_mut(&number).filter(|channel| !channel.closing) else {
            if !self.channels.contains_key(&number) {
                self.stray(number);
            }
            // What was on its way when the channel closed is dropped.
            return;
        };
        let Some(incoming) = &mut channel.incoming else {
            return self.stray(number);
        };
        match (frame.kind, incoming.wants_header()) {
            (FrameKind::Header, true) => match Properties::get(frame.payload) {
                Ok((size, properties)) => incoming.header(size, properties),
                Err(Other::Class(class)) => {
                    let text = format!(
                        "expected content header for class {BASIC}, got one for class {class} instead"
                    );
                    return self.refuse(number, PUBLISH, &reply::unexpected_frame(text));
                }
                Err(Other::Weight) => {
                    let refusal = misplaced(incoming);
                    return self.refuse(number, PUBLISH, &refusal);
                }
                Err(Other::Malformed) => {
                    return self.refuse(
                        number,
                        PUBLISH,
                        &reply::frame_error("cannot decode the content header"),
                    );
                }
            },
            (FrameKind::Body, false) => incoming.body(frame.payload, MAX_BODY),
            _ => {
                let refusal = misplaced(incoming);
                return self.refuse(number, PUBLISH, &refusal);
            }
        }
        incoming.holds(hold, MAX_BODY);
        if !incoming.is_whole() {
            return;
        }
        let size = incoming.size();
        let Some(whole) = channel.incoming.take().map(|incoming| incoming.finish()) else {
            return;
        };
        if size > MAX_BODY {
            let text = format!("message size {size} is larger than configured max size {MAX_BODY}");
            return self.refuse(number, PUBLISH, &reply::precondition_failed(text));
        }
        let published = match self.check(&whole.message) {
            Ok(()) => self.hold_or_send(number, whole),
            Err(refusal) => Err(refusal),
        };
        if let Err(refusal) = published {
            self.refuse(number, PUBLISH, &refusal);
        }
    }

    /// A part of a content that belongs to no method.
    fn stray(&mut self, number: u16) {
        let refusal = reply::unexpected_frame("expected method frame, got non method frame instead");
        self.refuse(number, (0, 0), &refusal.of_nothing());
    }

    fn check(&self, message: &Message) -> Result<(), Refusal> {
        let properties = &message.properties;
        if !message.exchange.is_empty() {
            let view = self.amqp.meta.view();
            let (vhost, exchange) = (&self.vhost, &message.exchange);
            let found = route::find(&view, vhost.bytes(), exchange.bytes());
            if found.ok_or_else(|| no_exchange(exchange, vhost))?.row.internal {
                let text = format!(
                    "cannot publish to internal exchange '{}' in vhost '{}'",
                    exchange.text(),
                    vhost.text()
                );
                return Err(reply::access_refused(text));
            }
        }
        if properties.headers.as_ref().is_some_and(Field::is_too_deep) {
            return Err(reply::too_deep());
        }
        if properties.reply_to.as_ref().is_some_and(|to| to.bytes() == DIRECT_REPLY) {
            return Err(reply::precondition_failed("fast reply consumer does not exist"));
        }
        if let Some(user) = &properties.user_id
            && user.bytes() != self.user.as_bytes()
        {
            let text = format!(
                "user_id property set to '{}' but authenticated user was '{}'",
                user.text(),
                self.user
            );
            return Err(reply::precondition_failed(text));
        }
        if let Some(expiration) = &properties.expiration
            && let Some(why) = wrong_expiration(expiration.bytes())
        {
            let text = expiration.text();
            return Err(reply::precondition_failed(format!("invalid expiration '{text}': {why}")));
        }
        more_keys(properties)?;
        match properties.delivery_mode {
            None | Some(1 | 2) => Ok(()),
            Some(mode) => {
                Err(reply::precondition_failed(format!("invalid message: {{delivery_mode_unknown,{mode}}}")))
            }
        }
    }

    fn hold_or_send(&mut self, number: u16, whole: Whole) -> Result<(), Refusal> {
        if let Mode::Transaction(held) = &mut self.channel(number).mode {
            held.bytes += whole.message.body.len() as u64;
            if held.messages.len() >= TRANSACTION_MESSAGES || held.bytes > TRANSACTION_BYTES {
                let text = format!(
                    "a transaction holds at most {TRANSACTION_MESSAGES} messages and {TRANSACTION_BYTES} bytes"
                );
                return Err(reply::precondition_failed(text));
            }
            held.messages.push(whole);
            return Ok(());
        }
        self.send(number, whole)
    }

    /// Sends a message to its streams.
    pub(super) fn send(&mut self, number: u16, whole: Whole) -> Result<(), Refusal> {
        let Whole { message, mandatory, hold } = whole;
        let claim = producer::claim(message.properties.headers.as_ref())?;
        let hold = hold.map(Arc::new);
        let queues = self.route(&message)?;
        let mut records = Vec::with_capacity(queues.len());
        for (queue, name) in queues.iter() {
            let headers = to_headers(&message, queue.bytes())?;
            let record = Record { body: message.body.clone(), headers, producer_timestamp: None };
            records.push((name.clone(), record));
        }
        if records.is_empty() && mandatory {
            self.give_back_to_publisher(number, &message);
        }
        self.amqp.counts.published.add(1);
        let channel = self.channel(number);
        let (tag, turn) = (channel.published(records.len()), channel.turn);
        for (name, record) in records {
            self.on_their_way.0 += record.byte_len();
            self.on_their_way.1 += 1;
            let waiting = Waiting { tag, record, claim: claim.clone(), hold: hold.clone() };
            self.lanes.entry((number, turn, name)).or_default().push(waiting);
        }
        Ok(())
    }

    /// The queues that a message reaches, each once.
    fn route(&mut self, message: &Message) -> Result<Queues, Refusal> {
        let mut keys = vec![message.routing_key.clone()];
        keys.extend(more_keys(&message.properties)?);
        let mut queues: Vec<(Short, StreamName)> = Vec::new();
        if !message.exchange.is_empty() {
            let none = Table::default();
            let headers = message.properties.headers.as_ref().unwrap_or(&none);
            let view = self.amqp.meta.view();
            return Ok(self.routes.find(&view, self.vhost.bytes(), &message.exchange, &keys, headers));
        }
        for key in keys {
            let Some(name) = name::stream(self.vhost.bytes(), key.bytes()) else { continue };
            let there = self.amqp.service.find(&Caller::anonymous(), Operation::Append, &name, None).is_ok();
            if there && queues.iter().all(|(_, other)| *other != name) {
                queues.push((key, name));
            }
        }
        Ok(queues.into())
    }

    fn give_back_to_publisher(&mut self, number: u16, message: &Message) {
        let method = Method::Return {
            code: 312,
            text: Short::from("NO_ROUTE"),
            exchange: message.exchange.clone(),
            routing_key: message.routing_key.clone(),
        };
        self.say(number, &method);
        let mut properties = message.properties.clone();
        if let Some(headers) = &mut properties.headers {
            headers.0.retain(|header| header.name != BCC);
        }
        self.put_content(number, &properties, &message.body);
    }

    /// Writes properties and body, in frames of the size agreed on.
    pub(super) fn put_content(&mut self, number: u16, properties: &Properties, body: &[u8]) {
        let out = &mut self.out;
        put_frame(out, FrameKind::Header, number, |out| properties.put(out, body.len() as u64));
        for part in body.chunks(self.frame_max - 8) {
            put_frame(out, FrameKind::Body, number, |out| out.extend_from_slice(part));
        }
    }
}
