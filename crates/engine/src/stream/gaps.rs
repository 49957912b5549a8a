//! Appends of producers that wait for their predecessors: owns the list of one stream, guarantees that a waiter is
//! woken when its predecessor was accepted or the stream ends, never holds more than its bound.

use kelda_format::rows::ProducerId;
use tokio::sync::oneshot;

/// Appends of one stream that may wait for a predecessor; beyond it the gap is answered at once.
const MAX_GAP_WAITERS: usize = 1024;

#[derive(Debug)]
struct GapWaiter {
    id: ProducerId,
    seq: u64,
    wake: oneshot::Sender<()>,
}

/// The waiters of one stream. Costs nothing while there are none.
#[derive(Debug, Default)]
pub(crate) struct GapWaiters(Vec<GapWaiter>);

impl GapWaiters {
    /// Registers an append of sequence `seq`. None when too many wait already. Resolves with an error when the
    /// stream ends.
    pub(crate) fn wait(&mut self, id: &ProducerId, seq: u64) -> Option<oneshot::Receiver<()>> {
        if self.0.len() >= MAX_GAP_WAITERS {
            self.0.retain(|waiter| !waiter.wake.is_closed());
            if self.0.len() >= MAX_GAP_WAITERS {
                return None;
            }
        }
        let (wake, woken) = oneshot::channel();
        self.0.push(GapWaiter { id: id.clone(), seq, wake });
        Some(woken)
    }

    /// Wakes those whose predecessor `seq` of producer `id` was just accepted.
    pub(crate) fn accepted(&mut self, id: &ProducerId, seq: u64) {
        if self.0.is_empty() {
            return;
        }
        let mut at = 0;
        while at < self.0.len() {
            let waiter = &self.0[at];
            if waiter.wake.is_closed() || (waiter.id == *id && waiter.seq <= seq.saturating_add(1)) {
                let waiter = self.0.swap_remove(at);
                // One that gave up does not want to know.
                let _ = waiter.wake.send(());
            } else {
                at += 1;
            }
        }
        if self.0.is_empty() {
            self.0 = Vec::new();
        }
    }

    /// Wakes everybody, to look again.
    pub(crate) fn wake_all(&mut self) {
        self.0 = Vec::new();
    }
}
