//! Sliding TTL and absolute expiry, in memory: owns the deadline of every stream that has one.
//!
//! Guarantees: a stream expires only when its deadline has passed and nobody is using it, and what uses it
//! moves a sliding deadline on before it lets go, so that an acknowledged append never expires with a deadline
//! it had before. Once a deadline was found passed it stays passed. Sliding deadlines run on the monotonic
//! clock, so that a jump of the wall clock expires nothing. Never holds a slot for a stream without expiry,
//! and never proposes anything itself.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kelda_format::rows::{EntryRow, Expiry};
use kelda_format::{StreamId, StreamName, Timestamp};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::lookup::LookupError;
use crate::service::Inner;

/// How long after a failed expiry the next attempt is made.
pub(crate) const RETRY_MS: u64 = 1_000;

/// The deadlines of all streams that have one; times are milliseconds of the monotonic clock.
#[derive(Default)]
pub(crate) struct Deadlines {
    table: Mutex<Table>,
    /// Told when the earliest deadline moved forward.
    pub(crate) moved: Notify,
}

/// The pure part: every method takes the time.
#[derive(Default)]
pub(crate) struct Table {
    slots: BTreeMap<StreamId, Slot>,
    /// When to look at which stream; a slot is in it once, at a time no later than its deadline.
    queue: BTreeSet<(u64, StreamId)>,
}

struct Slot {
    deadline: u64,
    /// Milliseconds that a use moves the deadline to; absent for absolute expiry, which nothing moves.
    ttl: Option<u64>,
    /// Where in the queue it is.
    queued: u64,
    /// Requests and parked readers that use the stream now.
    users: u32,
    /// Whether the deadline moved since it was last known to be persisted.
    moved: bool,
}

impl Slot {
    fn passed(&self, now: u64) -> bool {
        self.deadline <= now && (self.users == 0 || self.ttl.is_none())
    }
}

impl Table {
    /// Starts to follow a stream, or puts another deadline to one; whether the earliest look moved.
    pub(crate) fn put(&mut self, stream: StreamId, deadline: u64, ttl: Option<u64>) -> bool {
        let old = self.slots.remove(&stream);
        if let Some(old) = &old {
            self.queue.remove(&(old.queued, stream));
        }
        let (users, moved) = old.map_or((0, false), |old| (old.users, old.moved));
        self.slots.insert(stream, Slot { deadline, ttl, queued: deadline, users, moved });
        self.queue.insert((deadline, stream));
        self.queue.first() == Some(&(deadline, stream))
    }

    /// Remembers that the deadline is not the persisted one.
    pub(crate) fn mark_moved(&mut self, stream: StreamId) {
        if let Some(slot) = self.slots.get_mut(&stream) {
            slot.moved = true;
        }
    }

    /// Stops to follow a stream, which is gone.
    pub(crate) fn forget(&mut self, stream: StreamId) {
        if let Some(slot) = self.slots.remove(&stream) {
            self.queue.remove(&(slot.queued, stream));
        }
    }

    /// Begins a use, unless the deadline has passed.
    pub(crate) fn enter(&mut self, stream: StreamId, now: u64) -> bool {
        match self.slots.get_mut(&stream) {
            Some(slot) if slot.passed(now) => false,
            Some(slot) => {
                slot.users += 1;
                true
            }
            None => true,
        }
    }

    /// Ends a use; one that counts moves a sliding deadline.
    pub(crate) fn leave(&mut self, stream: StreamId, now: u64, counts: bool) {
        let Some(slot) = self.slots.get_mut(&stream) else { return };
        slot.users = slot.users.saturating_sub(1);
        if let (true, Some(ttl)) = (counts, slot.ttl) {
            let deadline = now.saturating_add(ttl);
            slot.moved |= deadline > slot.deadline;
            slot.deadline = slot.deadline.max(deadline);
        }
    }

    /// When to look next.
    pub(crate) fn next(&self) -> Option<u64> {
        self.queue.first().map(|(at, _)| *at)
    }

    /// Takes up to `limit` streams whose deadline has passed; each is looked at again after a while unless it
    /// is forgotten by then.
    pub(crate) fn take_passed(&mut self, now: u64, limit: usize) -> Vec<StreamId> {
        let mut passed = Vec::new();
        while passed.len() < limit
            && let Some((at, stream)) = self.queue.first().copied()
            && at <= now
        {
            self.queue.pop_first();
            let Some(slot) = self.slots.get_mut(&stream) else { continue };
            if slot.passed(now) {
                passed.push(stream);
                slot.queued = now + RETRY_MS;
            } else {
                // Moved, or in use by somebody who will most likely move it.
                let pause = if slot.deadline > now { 0 } else { slot.ttl.unwrap_or(0).max(RETRY_MS) };
                slot.queued = slot.deadline.max(now.saturating_add(pause));
            }
            self.queue.insert((slot.queued, stream));
        }
        passed
    }

    /// The sliding deadlines that moved since they were persisted.
    pub(crate) fn moved(&self) -> Vec<(StreamId, u64)> {
        self.slots
            .iter()
            .filter(|(_, slot)| slot.moved)
            .map(|(stream, slot)| (*stream, slot.deadline))
            .collect()
    }

    /// Streams that are followed.
    pub(crate) fn len(&self) -> usize {
        debug_assert_eq!(self.slots.len(), self.queue.len(), "a slot is in the queue once");
        self.slots.len()
    }
}

impl Deadlines {
    pub(crate) fn lock(&self) -> parking_lot::MutexGuard<'_, Table> {
        self.table.lock()
    }

    /// Follows a stream's deadline and wakes the timer when it is the earliest.
    pub(crate) fn put(&self, stream: StreamId, deadline: u64, ttl: Option<u64>) {
        let first = self.lock().put(stream, deadline, ttl);
        if first {
            self.moved.notify_one();
        }
    }

    /// Stops to follow a stream, which is gone.
    pub(crate) fn forget(&self, stream: StreamId) {
        self.lock().forget(stream);
    }
}

/// A use of a stream in progress. Dropped without [`Use::touch`], it leaves the deadline as it was.
pub(crate) struct Use(Option<Counted>);

struct Counted {
    inner: Arc<Inner>,
    stream: StreamId,
    counts: bool,
}

impl Use {
    /// Ends the use as one that slides the TTL.
    pub(crate) fn touch(mut self) {
        if let Some(counted) = &mut self.0 {
            counted.counts = true;
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let now = self.inner.monotonic_ms();
        self.inner.deadlines.lock().leave(self.stream, now, self.counts);
    }
}

impl Inner {
    pub(crate) fn monotonic_ms(&self) -> u64 {
        u64::try_from(self.env.clock.monotonic().as_millis()).unwrap_or(u64::MAX)
    }

    /// Begins a use of a stream by a request or a parked reader.
    pub(crate) fn enter(self: &Arc<Inner>, entry: &EntryRow) -> Result<Use, LookupError> {
        let stream = entry.stream;
        match entry.expiry {
            Expiry::Never => return Ok(Use(None)),
            Expiry::At(_) if self.is_expired(entry) => return Err(not_found(&entry.name)),
            Expiry::At(_) => return Ok(Use(None)),
            Expiry::Sliding { ttl_ms } => {
                let now = self.monotonic_ms();
                let mut table = self.deadlines.lock();
                if !table.slots.contains_key(&stream) {
                    // Created through another node: what is not known is kept.
                    table.put(stream, now.saturating_add(ttl_ms), Some(ttl_ms));
                }
                if !table.enter(stream, now) {
                    return Err(not_found(&entry.name));
                }
            }
        }
        Ok(Use(Some(Counted { inner: Arc::clone(self), stream, counts: false })))
    }

    /// Whether a live entry's deadline has passed.
    pub(crate) fn is_expired(&self, entry: &EntryRow) -> bool {
        match entry.expiry {
            Expiry::Never => false,
            Expiry::At(at) => at.0 <= self.now().0 && !self.clock_is_suspect(),
            Expiry::Sliding { .. } => {
                let now = self.monotonic_ms();
                self.deadlines.lock().slots.get(&entry.stream).is_some_and(|slot| slot.passed(now))
            }
        }
    }

    /// The deadline as a wall clock time, for answers.
    pub(crate) fn deadline(&self, entry: &EntryRow) -> Option<Timestamp> {
        match entry.expiry {
            Expiry::Never => None,
            Expiry::At(at) => Some(at),
            Expiry::Sliding { ttl_ms } => {
                let deadline = self.deadlines.lock().slots.get(&entry.stream).map(|slot| slot.deadline);
                let left = deadline.map_or(ttl_ms, |deadline| deadline.saturating_sub(self.monotonic_ms()));
                Some(Timestamp(self.now().0.saturating_add(left)))
            }
        }
    }

    /// Follows the expiry of a stream that was just created, unless it is followed already.
    pub(crate) fn follow_new(&self, stream: StreamId, expiry: Expiry) {
        if !self.deadlines.lock().slots.contains_key(&stream) {
            self.follow(stream, expiry);
        }
    }

    /// Follows the expiry of a stream, counted from now.
    pub(crate) fn follow(&self, stream: StreamId, expiry: Expiry) {
        let now = self.monotonic_ms();
        match expiry {
            Expiry::Never => {}
            Expiry::Sliding { ttl_ms } => {
                self.deadlines.put(stream, now.saturating_add(ttl_ms), Some(ttl_ms))
            }
            Expiry::At(at) => {
                let left = at.0.saturating_sub(self.now().0);
                self.deadlines.put(stream, now.saturating_add(left), None);
            }
        }
    }
}

fn not_found(name: &StreamName) -> LookupError {
    LookupError::NotFound { name: name.clone() }
}

#[cfg(test)]
mod tests;
