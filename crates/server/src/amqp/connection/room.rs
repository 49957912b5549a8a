//! Room for what is published.
//!
//! Owns the wait of a connection whose message the node has no room for now. Guarantees that the bodies which came in are within
//! the node's budget for requests, that a peer which asked for it hears when it has to wait and when no longer, and that what
//! was begun does not hold its part for ever while it waits for the rest.

use std::time::Duration;

use futures::FutureExt;

use super::session::{Ending, Session};
use crate::amqp::channel::{Incoming, Mode};
use crate::amqp::reply;
use crate::amqp::wire::{Frame, Method, Short};
use crate::http::budget::Hold;

/// How long a message of which a part is there waits for room for the next part.
const ROOM_LIMIT: Duration = Duration::from_secs(10);
/// What a peer that waits is told, in the words that RabbitMQ has for it.
const REASON: &str = "low on memory";

/// A part of a content that waits for room.
pub struct Stalled {
    frame: Frame,
    /// Whether its wait is bounded, because room is held meanwhile.
    bounded: bool,
    /// Whether the peer was told.
    told: bool,
}

impl Session {
    /// Takes a part of a content, as soon as there is room for it.
    pub fn content(&mut self, frame: Frame) {
        match self.amqp.room.try_hold(frame.payload.len() as u64) {
            Some(hold) => self.content_part(frame, hold),
            None => self.stall(frame),
        }
    }

    fn stall(&mut self, frame: Frame) {
        let bounded = self.channels.get(&frame.channel).is_some_and(|channel| {
            channel.incoming.as_ref().is_some_and(Incoming::is_partial)
                || matches!(&channel.mode, Mode::Transaction(held) if held.bytes > 0)
        });
        let told = self.tells_blocked;
        if told {
            self.say(0, &Method::Blocked { reason: Short::from(REASON) });
        }
        self.wait_for_room(Stalled { frame, bounded, told });
    }

    fn wait_for_room(&mut self, stalled: Stalled) {
        let (room, env) = (self.amqp.room.clone(), self.amqp.env.clone());
        let bytes = stalled.frame.payload.len() as u64;
        self.stalled = Some(stalled);
        self.room = Some(async move { room.hold(&env, bytes, ROOM_LIMIT).await }.boxed());
    }

    /// Takes what came of the wait for room.
    pub fn roomed(&mut self, hold: Option<Hold>) {
        self.room = None;
        let Some(stalled) = self.stalled.take() else { return };
        if self.ending != Ending::Not {
            return;
        }
        if hold.is_none() && !stalled.bounded {
            return self.wait_for_room(stalled);
        }
        if stalled.told {
            self.say(0, &Method::Unblocked {});
        }
        if let Some(hold) = hold {
            return self.content_part(stalled.frame, hold);
        }
        let total = self.amqp.room.total();
        let text =
            format!("overloaded: the node has no room for the message, bodies take all of its {total} bytes");
        self.refuse(stalled.frame.channel, (60, 40), &reply::resource_error(text));
    }
}
