//! Where a stream begins and ends now: owns the one look that reads, waits and status share, at open and closed
//! streams alike. Guarantees that the tail is the durable one, and says when it is not known here (P19): while
//! another session, or one that ended and is not recovered, may have acknowledged more than is committed. Never
//! opens a stream.

use std::sync::Arc;

use kelda_format::{Offset, StreamId, Timestamp};
use kelda_meta::State;
use parking_lot::MutexGuard;

use crate::engine::Running;
use crate::stream::{OpenStream, Phase, StreamState};

/// A look at a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// The first offset held.
    pub(crate) start: Offset,
    /// Everything before it is in objects.
    pub(crate) committed: Offset,
    /// The durable tail; the committed one when `known` is false.
    pub(crate) tail: Offset,
    /// Whether nothing is acknowledged beyond `tail`.
    pub(crate) known: bool,
    /// Whether the stream ends at `tail` for good.
    pub(crate) sealed: bool,
    /// Time of the last record before `tail`.
    pub(crate) last_timestamp: Timestamp,
    /// Bytes of what is not committed.
    pub(crate) uncommitted_bytes: u64,
    /// Whether it is open here.
    pub(crate) open: bool,
}

impl Running {
    /// Looks at a stream; nothing when it is gone. The view is the one that the bounds were seen with.
    pub(crate) fn look(&self, stream: StreamId) -> Option<(Arc<State>, Bounds)> {
        let meta = &self.session.shared.meta;
        if let Some(open) = self.streams.get(stream)
            && let Some(state) = open.readable()
        {
            let view = meta.view();
            let row = view.stream(stream)?;
            let bounds = Bounds {
                start: row.start,
                committed: row.end,
                tail: state.durable,
                known: true,
                sealed: state.durable_sealed,
                last_timestamp: state.durable_timestamp,
                uncommitted_bytes: state.cache.bytes_from(row.end),
                open: true,
            };
            return Some((view, bounds));
        }
        // This view is later than the look at the registry: what was acknowledged by a stream that was closed
        // before that look is committed in it.
        let view = meta.view();
        let row = view.stream(stream)?;
        let held_here = row.owner == Some(self.session.id) && self.session.ended().is_none();
        let bounds = Bounds {
            start: row.start,
            committed: row.end,
            tail: row.end,
            known: row.owner.is_none() || row.sealed || held_here,
            sealed: row.sealed,
            last_timestamp: row.last_timestamp,
            uncommitted_bytes: 0,
            open: false,
        };
        Some((view, bounds))
    }
}

impl OpenStream {
    /// The state, as long as it says what is durable: until the stream is closed or deleted, or the session ends.
    pub(crate) fn readable(&self) -> Option<MutexGuard<'_, StreamState>> {
        let state = self.state.lock();
        match state.phase {
            Phase::Open | Phase::Stopped => Some(state),
            Phase::Closed | Phase::Gone | Phase::Ended => None,
        }
    }
}
