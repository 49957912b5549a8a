//! Room for what is published.
//!
//! Owns the wait of a connection whose message the node has no room for now, in memory or on its disk. Guarantees that the
//! bodies which came in are within the node's budget for requests, that a peer which asked for it hears when it has to wait and
//! when no longer, and that what was begun does not hold its part for ever while it waits for the rest.

use std::time::Duration;

use futures::FutureExt;
use kelda_service::Health;

use super::session::{Ending, Session};
use crate::amqp::channel::{Incoming, Mode};
use crate::amqp::wire::{Frame, FrameKind, Method, Properties, Short};
use crate::amqp::{producer, reply};
use crate::http::budget::Hold;

/// How long a message of which a part is there waits for room for the next part.
const ROOM_LIMIT: Duration = Duration::from_secs(10);
/// How often a node without space is asked whether it has some again.
const SPACE_POLL: Duration = Duration::from_millis(250);

/// What a message waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lack {
    /// Memory for bodies.
    Memory,
    /// Space on the disk.
    Space,
}

impl Lack {
    /// What a peer that waits is told, in the words that RabbitMQ has for it.
    fn reason(self) -> &'static str {
        match self {
            Lack::Memory => "low on memory",
            Lack::Space => "low on disk",
        }
    }
}

/// A part of a content that waits for room.
pub struct Stalled {
    frame: Frame,
    /// What for.
    lack: Lack,
    /// Whether its wait is bounded, because room is held meanwhile.
    bounded: bool,
    /// Whether the peer was told.
    told: bool,
}

impl Session {
    /// Takes a part of a content, as soon as there is room for it.
    pub fn content(&mut self, frame: Frame) {
        if frame.kind == FrameKind::Header && self.has_no_space() && !is_numbered(&frame) {
            return self.stall(frame, Lack::Space);
        }
        match self.amqp.room.try_hold(frame.payload.len() as u64) {
            Some(hold) => self.content_part(frame, hold),
            None => self.stall(frame, Lack::Memory),
        }
    }

    fn has_no_space(&self) -> bool {
        self.amqp.service.health() == Health::DiskFull
    }

    fn stall(&mut self, frame: Frame, lack: Lack) {
        let bounded = self.channels.get(&frame.channel).is_some_and(|channel| {
            channel.incoming.as_ref().is_some_and(Incoming::is_partial)
                || matches!(&channel.mode, Mode::Transaction(held) if held.bytes > 0)
        });
        let told = self.tells_blocked;
        if told {
            self.say(0, &Method::Blocked { reason: Short::from(lack.reason()) });
        }
        self.wait_for_room(Stalled { frame, lack, bounded, told });
    }

    fn wait_for_room(&mut self, stalled: Stalled) {
        let (room, env) = (self.amqp.room.clone(), self.amqp.env.clone());
        let (bytes, lack) = (stalled.frame.payload.len() as u64, stalled.lack);
        let service = self.amqp.service.clone();
        self.stalled = Some(stalled);
        let wait = async move {
            let has_space = async {
                while lack == Lack::Space && service.health() == Health::DiskFull {
                    env.clock.sleep(SPACE_POLL).await;
                }
            };
            env.timeout(ROOM_LIMIT, has_space).await.ok()?;
            room.hold(&env, bytes, ROOM_LIMIT).await
        };
        self.room = Some(wait.boxed());
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
        let text = match stalled.lack {
            Lack::Memory => {
                let total = self.amqp.room.total();
                format!(
                    "overloaded: the node has no room for the message, bodies take all of its {total} bytes"
                )
            }
            Lack::Space => "disk-full: the node has no space for the message".to_owned(),
        };
        self.refuse(stalled.frame.channel, (60, 40), &reply::resource_error(text));
    }
}

/// Whether the message that begins says by which number it can be published again: its publisher is told at once.
fn is_numbered(frame: &Frame) -> bool {
    let read = Properties::get(frame.payload.clone());
    let headers = read.ok().and_then(|(_, properties)| properties.headers);
    headers.is_some_and(|headers| producer::is_numbered(&headers))
}
