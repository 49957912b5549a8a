//! The queue before the writer of a log in the store: owns the entries that were accepted and are in no group yet. Guarantees
//! that groups hold entries in the order of acceptance, and that nothing is accepted once the session ended (P2). Never
//! waits while holding its lock. Bounded in bytes by the space that appends reserve first (`wal_queue_bytes`).

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use kelda_format::wal::StreamSection;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use crate::stream::OpenStream;
use crate::wal::{Offer, Refused, Reserved};

/// One accepted entry.
pub(crate) struct SlotEntry {
    /// The stream it belongs to, told when it is durable.
    pub(crate) stream: Arc<OpenStream>,
    /// Counts the entries of this opening of the stream, from 1.
    pub(crate) ordinal: u64,
    /// What it says.
    pub(crate) sections: Vec<StreamSection>,
    /// Bytes that it takes in a slot.
    pub(crate) bytes: u64,
    /// The space it holds until it is durable.
    pub(crate) reserved: Reserved,
}

/// What the writer does next.
pub(crate) enum Next {
    /// Make these entries one slot.
    Group(Vec<SlotEntry>),
    /// Look again at this time of the monotonic clock: entries wait for company.
    Linger(Duration),
    /// Nothing more will come.
    Close,
    /// The session ended: stop at once.
    Ended,
    /// Nothing waits.
    Empty,
}

/// How groups are made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grouping {
    /// How long the first entry of a group waits for others.
    pub(crate) linger: Duration,
    /// Bytes past which the next entry starts a new group.
    pub(crate) bytes: u64,
}

#[derive(Default)]
struct State {
    items: VecDeque<SlotEntry>,
    /// Bytes of `items`.
    bytes: u64,
    /// When the first of `items` was accepted, by the monotonic clock.
    since: Duration,
    /// Entries accepted in the life of the session.
    accepted: u64,
    /// Entries up to this one are to be uploaded soon.
    flush_to: u64,
    /// Bytes of the entries that are in no range yet.
    unranged: u64,
    refusing: bool,
    ended: bool,
}

/// The queue; shared by the appends and the writer.
#[derive(Default)]
pub(crate) struct SlotQueue {
    state: Mutex<State>,
    /// Wakes the writer.
    filled: Notify,
    /// Wakes appends when the session ends.
    room_made: Notify,
}

impl SlotQueue {
    /// Accepts an entry, or refuses it without having changed anything.
    pub(crate) fn hand_over(&self, offer: Offer) -> Result<(), (Refused, Offer)> {
        let now = offer.stream.session.shared.env.clock.monotonic();
        let mut state = self.state.lock();
        if state.ended || state.refusing {
            return Err((Refused::Ended, offer));
        }
        let Offer { stream, ordinal, sections, bytes, mut reserved, .. } = offer;
        reserved.shrink(bytes);
        if state.items.is_empty() {
            state.since = now;
        }
        state.accepted += 1;
        state.bytes += bytes;
        state.unranged += bytes;
        state.items.push_back(SlotEntry { stream, ordinal, sections, bytes, reserved });
        drop(state);
        self.filled.notify_one();
        Ok(())
    }

    /// Takes the next group, if it is due at `now`: it is full, its first entry waited for the linger, or it is asked for.
    pub(crate) fn take(&self, now: Duration, grouping: Grouping) -> Next {
        let mut state = self.state.lock();
        if state.ended {
            return Next::Ended;
        }
        if state.items.is_empty() {
            return if state.refusing { Next::Close } else { Next::Empty };
        }
        let due = state.since + grouping.linger;
        let asked = state.refusing || state.flush_to + (state.items.len() as u64) > state.accepted;
        if now < due && state.bytes < grouping.bytes && !asked {
            return Next::Linger(due);
        }
        let mut group: Vec<SlotEntry> = Vec::new();
        let mut bytes = 0;
        while let Some(entry) = state.items.pop_front() {
            // P17: a large entry is a group by itself.
            if !group.is_empty() && bytes + entry.bytes > grouping.bytes {
                state.items.push_front(entry);
                break;
            }
            bytes += entry.bytes;
            group.push(entry);
        }
        state.bytes -= bytes;
        // What is left was behind a full group, and waits no longer than what comes now.
        state.since = now;
        Next::Group(group)
    }

    /// Resolves when something may have changed since the last call.
    pub(crate) async fn filled(&self) {
        self.filled.notified().await;
    }

    /// Entries up to which everything is to be uploaded soon.
    pub(crate) fn flush_to(&self) -> u64 {
        self.state.lock().flush_to
    }

    /// Says that entries of so many bytes are in a range that goes to the uploader.
    pub(crate) fn ranged(&self, bytes: u64) {
        self.state.lock().unranged -= bytes;
    }

    /// Has everything accepted so far uploaded soon. Returns the last entry, counted from 0; nothing when there is none.
    pub(crate) fn flush(&self) -> Option<u64> {
        let mut state = self.state.lock();
        state.flush_to = state.accepted;
        let last = state.accepted.checked_sub(1);
        drop(state);
        self.filled.notify_one();
        last
    }

    /// Bytes that lie in no range yet.
    pub(crate) fn filled_bytes(&self) -> u64 {
        self.state.lock().unranged
    }

    /// Accepts nothing more and lets the writer finish. Returns as [`SlotQueue::flush`] does.
    pub(crate) fn close(&self) -> Option<u64> {
        self.state.lock().refusing = true;
        let last = self.flush();
        self.room_made.notify_waiters();
        last
    }

    /// Accepts and hands out nothing more, at once.
    pub(crate) fn end(&self) {
        let dropped = {
            let mut state = self.state.lock();
            state.ended = true;
            std::mem::take(&mut state.items)
        };
        drop(dropped);
        self.filled.notify_one();
        self.room_made.notify_waiters();
    }

    /// Wakes when the session ends; this queue never refuses for want of room.
    pub(crate) fn room_made(&self) -> Notified<'_> {
        self.room_made.notified()
    }
}
