//! The reader's rules, without any I/O: owns what was given, what is at work, what is finished and where to go on.
//!
//! Guarantees, whatever the order of events:
//! - an entry is at work once at a time, and one that was finished is not handed over again;
//! - no more than `prefetch` entries are out that were given and are not finished;
//! - after a lost connection it goes on at the oldest entry that it was given and that is not finished, or behind the
//!   newest that is; given nothing yet, where it was told to start, and `next` is where the tail was at first;
//! - the end of a handler that began before a connection was lost (an *old copy*) moves nothing; its entry is handed over
//!   again after it returned;
//! - `last_handled` is the highest finished offset below which everything that was given is finished.
//!
//! Never waits, never looks at an entry.

use std::collections::{BTreeMap, VecDeque};

use super::ranges::Ranges;
use crate::start::StartAt;

/// What to ask the server for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) start: StartAt,
    /// At most so many entries; at least 1.
    pub(crate) count: u64,
    /// Whether to wait at the tail until there is one.
    pub(crate) wait: bool,
    /// Entries that this connection gave and that are not finished.
    pub(crate) unfinished: u64,
}

/// What came of it.
#[derive(Clone, Debug)]
pub(crate) struct Given<E> {
    /// Consecutive entries, by offset; ascending ones when they are `sparse`.
    pub(crate) entries: Vec<(u64, E)>,
    /// Whether offsets between entries may never have been entries.
    pub(crate) sparse: bool,
    /// The offset behind them; nothing when there are none and the transport does not tell where it is.
    pub(crate) next: Option<u64>,
    /// Whether that is the tail.
    pub(crate) caught_up: bool,
    /// Whether nothing will ever follow.
    pub(crate) sealed: bool,
}

/// Entries that do not follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected the record at offset {expected}, got offset {found}")]
pub(crate) struct Disorder {
    pub(crate) expected: u64,
    pub(crate) found: u64,
}

/// The right to handle one copy of one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    pub(crate) offset: u64,
    generation: u64,
}

/// How a copy ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finish {
    Handled,
    Skipped,
}

/// How many entries came to which end. What an old copy comes to is not counted, but for a failure that stops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) handled: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

/// The state of one reader.
#[derive(Debug)]
pub(crate) struct Core<E> {
    prefetch: u64,
    concurrency: usize,
    /// Where it was told to start, or where `next`, or so many before the tail, was at first.
    told: StartAt,
    /// The restart point: the lowest offset that is neither finished nor gone. Nothing before something was given.
    floor: Option<u64>,
    /// What is done with above the restart point.
    done: Ranges,
    /// What to ask for next; nothing before the first answer of a connection that starts where it was told.
    at: Option<u64>,
    caught_up: bool,
    sealed: bool,
    asked: bool,
    /// Counts lost connections.
    generation: u64,
    buffer: VecDeque<(u64, E)>,
    /// Handlers at work: the generation by offset.
    running: BTreeMap<u64, u64>,
    /// How many of them are of this generation.
    current: u64,
    closing: bool,
    last_handled: Option<u64>,
    counts: Counts,
}

impl<E> Core<E> {
    /// A reader that was given nothing yet; `prefetch` and `concurrency` are at least 1.
    pub(crate) fn new(start: StartAt, prefetch: u64, concurrency: usize) -> Core<E> {
        assert!(prefetch > 0 && concurrency > 0, "both are at least 1");
        Core {
            prefetch,
            concurrency,
            told: start,
            floor: None,
            done: Ranges::default(),
            at: None,
            caught_up: false,
            sealed: false,
            asked: false,
            generation: 0,
            buffer: VecDeque::new(),
            running: BTreeMap::new(),
            current: 0,
            closing: false,
            last_handled: None,
            counts: Counts::default(),
        }
    }

    /// What to ask for now, when there is room for it. One question at a time.
    pub(crate) fn ask(&mut self) -> Option<Ask> {
        if !self.wants() {
            return None;
        }
        self.asked = true;
        let (room, wait, unfinished) = (self.room(), self.caught_up, self.outstanding());
        let Some(mut at) = self.at else {
            return Some(Ask { start: self.told, count: room, wait, unfinished });
        };
        // What is done with is not transferred again, be it below the restart point or above.
        at = at.max(self.floor.unwrap_or(at));
        while let Some(end) = self.done.end_of(at) {
            at = end;
        }
        self.at = Some(at);
        let until_done = self.done.next_start(at).map_or(u64::MAX, |start| start - at);
        Some(Ask { start: StartAt::Offset(at), count: room.min(until_done), wait, unfinished })
    }

    /// Whether [`Core::ask`] asks for something.
    pub(crate) fn wants(&self) -> bool {
        // Half of the window at once, so that a slow handler does not make a request for each entry.
        let enough = self.room() >= self.prefetch.div_ceil(2) || self.buffer.is_empty();
        !self.asked && !self.closing && !self.sealed && enough && self.room() > 0
    }

    fn room(&self) -> u64 {
        self.prefetch - self.outstanding()
    }

    /// Entries that were given by this connection and are not finished.
    pub(crate) fn outstanding(&self) -> u64 {
        self.buffer.len() as u64 + self.current
    }

    /// Takes an answer. What is beyond the room is left, to be asked for again.
    pub(crate) fn give(&mut self, given: Given<E>) -> Result<(), Disorder> {
        self.asked = false;
        let first = given.entries.first().map(|(offset, _)| *offset).or(given.next);
        if let (StartAt::Next | StartAt::Tail(_), Some(first)) = (self.told, first) {
            self.told = StartAt::Offset(first);
        }
        let (before, mut room) = (self.at, self.room());
        let mut at = before;
        for (offset, entry) in given.entries {
            if before.is_some_and(|before| offset < before) {
                continue;
            }
            let expected = *at.get_or_insert(offset);
            if offset < expected || (offset > expected && !given.sparse) {
                return Err(Disorder { expected, found: offset });
            }
            if room == 0 {
                self.at = at;
                return Ok(());
            }
            if offset > expected && self.floor.is_some() {
                // What never was an entry is as good as finished.
                self.done_with(expected, offset, None);
            }
            at = Some(offset + 1);
            if self.done.end_of(offset).is_some() {
                continue;
            }
            room -= 1;
            self.floor.get_or_insert(offset);
            self.buffer.push_back((offset, entry));
        }
        // Without entries it is where the server says, which is never back.
        (self.at, self.caught_up, self.sealed) = (at.max(given.next), given.caught_up, given.sealed);
        Ok(())
    }

    /// The question was not answered, and the connection is as it was.
    pub(crate) fn unanswered(&mut self) {
        self.asked = false;
    }

    /// The connection is gone: what was given and is not at work is forgotten, what is at work is an old copy now.
    pub(crate) fn lost(&mut self) {
        self.generation += 1;
        self.buffer.clear();
        self.current = 0;
        (self.asked, self.caught_up, self.sealed) = (false, false, false);
        self.at = self.floor;
    }

    /// Where the question begins that was asked last, when that is an offset.
    pub(crate) fn asked_at(&self) -> Option<u64> {
        match (self.at, self.told) {
            (Some(at), _) | (None, StartAt::Offset(at)) => Some(at),
            (None, _) => None,
        }
    }

    /// The entries from `from` up to `to` are gone: goes on behind them.
    pub(crate) fn gap(&mut self, from: u64, to: u64) {
        self.asked = false;
        self.at = Some(to);
        match self.floor {
            None => self.told = StartAt::Offset(to),
            Some(_) => self.done_with(from, to, None),
        }
    }

    /// The next entry to handle, if there is one and a handler may begin.
    pub(crate) fn hand_over(&mut self) -> Option<(Ticket, E)> {
        if self.closing || self.running.len() >= self.concurrency {
            return None;
        }
        // Entries whose old copies are still at work have to wait; there are fewer than `concurrency` of them.
        let ready = self.buffer.iter().position(|(offset, _)| !self.running.contains_key(offset))?;
        let (offset, entry) = self.buffer.remove(ready)?;
        self.running.insert(offset, self.generation);
        self.current += 1;
        Some((Ticket { offset, generation: self.generation }, entry))
    }

    /// Whether the copy is not an old one.
    pub(crate) fn is_current(&self, ticket: Ticket) -> bool {
        ticket.generation == self.generation
    }

    /// A copy was dealt with. Whether that counts: it does not for an old copy.
    pub(crate) fn finish(&mut self, ticket: Ticket, how: Finish) -> bool {
        self.leave(ticket);
        if !self.is_current(ticket) {
            return false;
        }
        match how {
            Finish::Handled => self.counts.handled += 1,
            Finish::Skipped => {
                self.counts.failed += 1;
                self.counts.skipped += 1;
            }
        }
        self.done_with(ticket.offset, ticket.offset + 1, Some(ticket.offset));
        true
    }

    /// A copy failed and failures stop the reader: nothing further is handed over.
    pub(crate) fn fail(&mut self, ticket: Ticket) {
        self.leave(ticket);
        self.counts.failed += 1;
        self.closing = true;
    }

    /// A copy was given back unhandled, by someone who stops.
    pub(crate) fn give_back(&mut self, ticket: Ticket) {
        self.leave(ticket);
    }

    fn leave(&mut self, ticket: Ticket) {
        let was = self.running.remove(&ticket.offset);
        assert_eq!(was, Some(ticket.generation), "a ticket is used once");
        self.current -= u64::from(self.is_current(ticket));
    }

    fn done_with(&mut self, from: u64, to: u64, finished: Option<u64>) {
        self.done.add(from, to, finished);
        let Some(floor) = self.floor else { return };
        if let Some(run) = self.done.take(floor) {
            self.floor = Some(run.end);
            self.last_handled = run.finished.or(self.last_handled);
        }
    }

    /// Nothing further is asked for or handed over.
    pub(crate) fn stop(&mut self) {
        self.closing = true;
        self.buffer.clear();
    }

    /// Whether it was stopped.
    pub(crate) fn is_closing(&self) -> bool {
        self.closing
    }

    /// Whether no handler is at work.
    pub(crate) fn is_idle(&self) -> bool {
        self.running.is_empty()
    }

    /// Nothing further comes; what was given is still handed over.
    pub(crate) fn no_more(&mut self) {
        (self.asked, self.sealed) = (false, true);
    }

    /// Whether nothing further comes.
    pub(crate) fn is_sealed(&self) -> bool {
        self.sealed
    }

    /// Whether nothing further comes and all of it was handed over.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.sealed && self.buffer.is_empty()
    }

    /// The highest finished offset below which everything given is finished.
    pub(crate) fn last_handled(&self) -> Option<u64> {
        self.last_handled
    }

    /// Where it goes on after a lost connection; nothing when that is where it was told to start.
    pub(crate) fn restart(&self) -> Option<u64> {
        self.floor
    }

    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    /// Runs of offsets that are remembered.
    #[cfg(test)]
    fn remembered(&self) -> usize {
        self.done.len()
    }
}

#[cfg(test)]
mod tests;
