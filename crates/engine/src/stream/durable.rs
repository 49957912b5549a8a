//! What happens to an open stream after acceptance: entries become durable, then committed; or the stream ends
//! here. Guarantees that acknowledgement is in order and that nothing is acknowledged after the end (P2, P9).

use kelda_format::wal::{Section, StreamSection};
use kelda_format::{Offset, Timestamp};

use super::{OpenStream, Phase, StreamState};
use crate::cache::LogCache;
use crate::error::AppendError;

impl OpenStream {
    /// The WAL writer says that the entry `ordinal` is durable. Entries of one stream come in order.
    pub(crate) fn entry_durable(&self, ordinal: u64, sections: Vec<StreamSection>) {
        let mut state = self.state.lock();
        if matches!(state.phase, Phase::Ended | Phase::Gone | Phase::Closed) {
            return;
        }
        assert_eq!(ordinal, state.durable_entries + 1, "entries become durable in order");
        state.durable_entries = ordinal;
        // P17: the tail moves by the whole entry, however many sections it has.
        for section in sections {
            match section.section {
                Section::Records(block) => {
                    state.durable = block.end();
                    state.durable_timestamp = block.last_timestamp();
                    state.cache.push(block);
                }
                Section::Seal => state.durable_sealed = true,
                _ => {}
            }
        }
        state.answer_durable();
        drop(state);
        self.session.shared.waiters.wake(self.id);
    }

    /// The uploader says that a commit is applied which covers everything up to `end`, `entries` entries in all.
    pub(crate) fn committed(&self, end: Offset, entries: u64) {
        let mut state = self.state.lock();
        state.committed = state.committed.max(end);
        state.committed_entries += entries;
        let committed = state.committed_entries;
        state.producers.drop_committed(committed);
    }

    /// Stops appends so that something which ends the stream can be proposed (P5). False when it is not open.
    pub(crate) fn stop(&self) -> bool {
        let mut state = self.state.lock();
        if state.phase != Phase::Open {
            return false;
        }
        state.phase = Phase::Stopped;
        state.gaps.wake_all();
        true
    }

    /// Takes appends again, after what `stop` was for certainly did not happen.
    pub(crate) fn resume(&self) {
        let mut state = self.state.lock();
        if state.phase == Phase::Stopped {
            state.phase = Phase::Open;
        }
    }

    /// Ends the stream here and answers everybody who waits.
    pub(crate) fn end(&self, phase: Phase) {
        let mut state = self.state.lock();
        if matches!(state.phase, Phase::Ended | Phase::Gone | Phase::Closed) {
            return;
        }
        state.phase = phase;
        let answer = match phase {
            Phase::Gone => AppendError::Gone,
            // P2: whether the entry is on the disk is not known before recovery.
            _ => AppendError::OutcomeUnknown,
        };
        for waiter in std::mem::take(&mut state.waiting) {
            // An append that went away does not want the answer.
            let _ = waiter.answer.send(Err(answer.clone()));
        }
        state.gaps.wake_all();
        // P2: what is cached was acknowledged by a session that is over.
        state.cache = LogCache::new(state.durable);
        drop(state);
        self.inflight.close();
        self.session.shared.waiters.wake(self.id);
    }

    /// Time that a record accepted now would get at least.
    pub(crate) fn floor_timestamp(state: &StreamState, now: u64) -> Timestamp {
        // P18: time never goes back within a stream, whatever the clock does.
        Timestamp(now).max(state.last_timestamp)
    }
}

impl StreamState {
    fn answer_durable(&mut self) {
        while let Some(waiter) = self.waiting.front() {
            if waiter.ordinal > self.durable_entries {
                break;
            }
            if let Some(waiter) = self.waiting.pop_front() {
                // An append that went away does not want the answer.
                let _ = waiter.answer.send(Ok(()));
            }
        }
    }

    /// Whether nothing accepted waits for the disk or for a commit.
    pub(crate) fn all_committed(&self) -> bool {
        self.committed_entries == self.accepted_entries
    }
}
