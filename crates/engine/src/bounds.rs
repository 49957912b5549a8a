//! Where a stream begins and ends now: owns the one look that reads, waits and status share, at open and closed
//! streams alike. Guarantees that the tail is the durable one, and says when it is not known here (P19): while
//! another session, or one that ended and is not recovered, may have acknowledged more than is committed. Never
//! opens a stream.

use std::sync::Arc;

use kelda_format::rows::StreamRow;
use kelda_format::{Offset, StreamId, Timestamp};
use parking_lot::MutexGuard;

use crate::engine::Running;
use crate::stream::{OpenStream, Phase, StreamState};

/// A look at a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// The first offset held.
    pub(crate) start: Offset,
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
    /// The stream when it is open here, also while something that ends it is proposed.
    pub(crate) fn held_open(&self, stream: StreamId) -> Option<Arc<OpenStream>> {
        self.streams.get(stream).filter(|open| open.readable().is_some())
    }

    /// Bounds of the stream whose row is `row`. The look at the open stream is later than the view the row is of,
    /// so the tail is never before the row's end.
    pub(crate) fn bounds(&self, row: &StreamRow) -> Bounds {
        if let Some(open) = self.streams.get(row.id)
            && let Some(state) = open.readable()
        {
            return Bounds {
                start: row.start,
                tail: state.durable,
                known: true,
                sealed: state.durable_sealed,
                last_timestamp: state.durable_timestamp,
                uncommitted_bytes: state.cache.bytes_from(row.end),
                open: true,
            };
        }
        // Held by this session, but not open: just opened or just closed, and everything is committed either way.
        let held_here = row.owner == Some(self.session.id) && self.session.ended().is_none();
        Bounds {
            start: row.start,
            tail: row.end,
            known: row.owner.is_none() || row.sealed || held_here,
            sealed: row.sealed,
            last_timestamp: row.last_timestamp,
            uncommitted_bytes: 0,
            open: false,
        }
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
