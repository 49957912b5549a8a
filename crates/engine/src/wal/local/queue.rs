//! The queue before the WAL writer: owns the entries that were accepted and not yet taken by the writer, and the
//! plan of where they go. Guarantees that entries are written in the order in which they were accepted, that each
//! has its place on disk before it is accepted, and that nothing is accepted once the session ended (P2). Never
//! waits while holding its lock. Bounded in bytes by the space that appends reserve first (`wal_queue_bytes`).

use std::collections::VecDeque;
use std::sync::Arc;

use kelda_env::DiskFile;
use kelda_format::wal::StreamSection;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::room::{Place, Room, Slot};
use crate::stream::OpenStream;
use crate::wal::{Offer, Refused, Reserved};

/// Groups over which the mean of their sizes moves.
const MEAN_OVER: u64 = 16;

/// One accepted entry.
pub(crate) struct WalEntry {
    /// The stream it belongs to, told when it is durable.
    pub(crate) stream: Arc<OpenStream>,
    /// Counts the entries of this opening of the stream, from 1.
    pub(crate) ordinal: u64,
    /// What it says.
    pub(crate) sections: Vec<StreamSection>,
    /// Bytes that it takes in the segment.
    pub(crate) bytes: u64,
    /// Where it goes.
    pub(crate) place: Place,
    /// The space it holds until it is durable.
    pub(crate) reserved: Reserved,
}

/// What the writer does next.
pub(crate) enum Next {
    /// Write these entries, all of one segment, as one group.
    Group(Vec<WalEntry>),
    /// Seal this segment, which is not full.
    Seal(u64),
    /// Nothing more will come: seal what is there and stop.
    Close,
    /// The session ended: stop at once.
    Ended,
    /// Nothing waits.
    Empty,
}

enum Item {
    Entry(Box<WalEntry>),
    Seal(u64),
    Close,
}

struct State {
    items: VecDeque<Item>,
    room: Room,
    prepared: VecDeque<(u64, Arc<dyn DiskFile>)>,
    disk_full: bool,
    refusing: bool,
    ended: bool,
    /// Moving mean of the bytes of a group.
    usual_group: u64,
}

/// The queue; shared by the appends, the writer and the preparer of segments.
pub(crate) struct WalQueue {
    state: Mutex<State>,
    /// Wakes the writer.
    filled: Notify,
    /// Wakes appends that wait for a segment.
    room_made: Notify,
    /// Wakes the preparer.
    room_wanted: Notify,
}

impl WalQueue {
    pub(crate) fn new(room: Room) -> WalQueue {
        WalQueue {
            state: Mutex::new(State {
                items: VecDeque::new(),
                room,
                prepared: VecDeque::new(),
                disk_full: false,
                refusing: false,
                ended: false,
                usual_group: 0,
            }),
            filled: Notify::new(),
            room_made: Notify::new(),
            room_wanted: Notify::new(),
        }
    }

    /// Accepts an entry, or refuses it without having changed anything. Called under the lock of the stream, so
    /// that the order in the WAL is the order of offsets.
    pub(crate) fn hand_over(&self, offer: Offer) -> Result<(), (Refused, Offer)> {
        let mut state = self.state.lock();
        if state.ended || state.refusing {
            return Err((Refused::Ended, offer));
        }
        let Some(place) = state.room.place(offer.bytes, offer.index_bytes) else {
            let refused = if state.disk_full { Refused::DiskFull } else { Refused::NoRoom };
            drop(state);
            self.room_wanted.notify_one();
            return Err((refused, offer));
        };
        let wanted = state.room.wants().is_some();
        let Offer { stream, ordinal, sections, bytes, mut reserved, .. } = offer;
        reserved.shrink(bytes);
        state.items.push_back(Item::Entry(Box::new(WalEntry {
            stream,
            ordinal,
            sections,
            bytes,
            place,
            reserved,
        })));
        drop(state);
        self.filled.notify_one();
        if wanted {
            self.room_wanted.notify_one();
        }
        Ok(())
    }

    /// Takes what the writer does next: entries of one segment up to `group_bytes`, one at least.
    pub(crate) fn take(&self, group_bytes: u64) -> Next {
        let mut state = self.state.lock();
        if state.ended {
            return Next::Ended;
        }
        let mut group: Vec<WalEntry> = Vec::new();
        let mut bytes = 0;
        loop {
            let fits = match state.items.front() {
                Some(Item::Entry(entry)) => group.first().is_none_or(|first| {
                    first.place.segment == entry.place.segment && bytes + entry.bytes <= group_bytes
                }),
                Some(Item::Seal(_) | Item::Close) => group.is_empty(),
                None => false,
            };
            if !fits {
                break;
            }
            match state.items.pop_front() {
                Some(Item::Entry(entry)) => {
                    bytes += entry.bytes;
                    group.push(*entry);
                }
                Some(Item::Seal(number)) => return Next::Seal(number),
                Some(Item::Close) => return Next::Close,
                None => break,
            }
        }
        if group.is_empty() {
            return Next::Empty;
        }
        state.usual_group = (state.usual_group * (MEAN_OVER - 1) + bytes) / MEAN_OVER;
        Next::Group(group)
    }

    /// Bytes that a group has nowadays, about.
    pub(crate) fn usual_group(&self) -> u64 {
        self.state.lock().usual_group
    }

    /// Whether an entry waits for the next segment.
    pub(crate) fn room_is_awaited(&self) -> bool {
        self.state.lock().room.is_awaited()
    }

    /// Places a synced mark in `segment`, only if nothing waits and that is the segment being filled.
    pub(crate) fn place_mark(&self, segment: u64) -> Option<Place> {
        let mut state = self.state.lock();
        if state.ended || !state.items.is_empty() || state.room.filling() != Some(segment) {
            return None;
        }
        state.room.place_mark()
    }

    /// Resolves when something may have been put in the queue since the last call, or the session ended.
    pub(crate) async fn filled(&self) {
        self.filled.notified().await;
    }

    /// Has the segment being filled sealed. Returns the segment whose commit covers all that was accepted.
    pub(crate) fn seal_filling(&self) -> Option<u64> {
        let mut state = self.state.lock();
        let rotation = state.room.rotate();
        if let Some(number) = rotation.seal {
            state.items.push_back(Item::Seal(number));
        }
        drop(state);
        self.filled.notify_one();
        self.room_wanted.notify_one();
        rotation.last
    }

    /// Bytes that lie in the segment being filled, or wait to be written to it.
    pub(crate) fn filled_bytes(&self) -> u64 {
        self.state.lock().room.filled_bytes()
    }

    /// Accepts nothing more and lets the writer finish. Returns as [`WalQueue::seal_filling`] does.
    pub(crate) fn close(&self) -> Option<u64> {
        let mut state = self.state.lock();
        let rotation = state.room.rotate();
        if !state.refusing {
            state.refusing = true;
            state.items.push_back(Item::Close);
        }
        drop(state);
        self.wake_all();
        rotation.last
    }

    /// Accepts and hands out nothing more, at once.
    pub(crate) fn end(&self) {
        let dropped = {
            let mut state = self.state.lock();
            state.ended = true;
            std::mem::take(&mut state.items)
        };
        drop(dropped);
        self.wake_all();
    }

    fn wake_all(&self) {
        self.filled.notify_one();
        self.room_wanted.notify_one();
        self.room_made.notify_waiters();
    }

    /// What the preparer should make: the segment and its least capacity. `Err` when it should stop.
    pub(crate) fn wanted(&self) -> Result<Option<Slot>, Stopped> {
        let state = self.state.lock();
        if state.ended || state.refusing { Err(Stopped) } else { Ok(state.room.wants()) }
    }

    /// Resolves when a segment may be wanted since the last call.
    pub(crate) async fn room_wanted(&self) {
        self.room_wanted.notified().await;
    }

    /// Takes back the prepared segment if it is unused, to replace it with a larger one.
    pub(crate) fn withdraw(&self) -> Option<u64> {
        let mut state = self.state.lock();
        let slot = state.room.withdraw()?;
        state.prepared.retain(|(number, _)| *number != slot.number);
        Some(slot.number)
    }

    /// Adds a prepared segment.
    pub(crate) fn offer_segment(&self, slot: Slot, file: Arc<dyn DiskFile>) {
        let mut state = self.state.lock();
        state.disk_full = false;
        state.room.offer(slot);
        state.prepared.push_back((slot.number, file));
        drop(state);
        self.room_made.notify_waiters();
        self.room_wanted.notify_one();
    }

    /// The file of a segment in which an entry was placed.
    pub(crate) fn take_file(&self, number: u64) -> Option<Arc<dyn DiskFile>> {
        let mut state = self.state.lock();
        let at = state.prepared.iter().position(|(prepared, _)| *prepared == number)?;
        state.prepared.remove(at).map(|(_, file)| file)
    }

    /// Says whether there is no space for the next segment: what does not fit in the current one is refused then.
    pub(crate) fn set_disk_full(&self, full: bool) {
        let mut state = self.state.lock();
        state.disk_full = full;
        if full {
            // An entry that asked for more than a usual segment is refused now, and must not keep others waiting
            // for as much space.
            state.room.unwant();
        }
        drop(state);
        self.room_made.notify_waiters();
    }

    /// Wakes on the next change of the room; create it before looking.
    pub(crate) fn room_made(&self) -> tokio::sync::futures::Notified<'_> {
        self.room_made.notified()
    }
}

/// The queue needs no more segments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopped;
