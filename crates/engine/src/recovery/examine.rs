//! Reading a local log once: owns what is kept of each segment between the check and the recovery, which is little: what is
//! replayed of it and where it ends, not its bytes. Guarantees that everything is judged before anything is changed. Never
//! changes a file.

use std::time::Duration;

use kelda_format::SessionId;
use kelda_format::wal::SegmentHeader;

use super::log::Log;
use super::plan::{self, Ends, Replay};
use crate::error::StartError;
use crate::health::Health;
use crate::session::Shared;

/// How often a long recovery says in the log how far it is.
const SAID_EVERY: Duration = Duration::from_secs(5);

/// A segment that was read and judged.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(super) number: u64,
    pub(super) path: String,
    /// None when nothing was ever written to it.
    pub(super) header: Option<SegmentHeader>,
    /// Where the entries end.
    pub(super) end: u64,
    /// Bytes behind the end that were written and never acknowledged.
    pub(super) torn_bytes: u64,
    /// Whether no later segment was begun.
    pub(super) last: bool,
    /// Entries in it, and what of them is replayed.
    entries: usize,
    pub(super) replay: Replay,
}

/// The log of an ended session.
#[derive(Debug)]
pub(crate) struct Examined {
    pub(super) session: SessionId,
    /// The WAL start that it was read from.
    pub(super) wal_start: u64,
    pub(super) segments: Vec<Segment>,
    /// Segments that were prepared and never used.
    pub(super) unused: Vec<u64>,
    /// Whether the session holds streams.
    pub(super) holds_streams: bool,
}

impl Examined {
    /// Entries of all segments.
    pub(super) fn entries(&self) -> usize {
        self.segments.iter().map(|segment| segment.entries).sum()
    }
}

/// Reads and judges the log of `session` from `wal_start` on.
pub(super) async fn examine(
    shared: &Shared,
    session: SessionId,
    wal_start: u64,
) -> Result<Examined, StartError> {
    let view = shared.meta.view();
    let mut log = Log::open(&shared.env.disk, &view, session, wal_start).await?;
    let lens = log.lens().await?;
    let mut left = Left::new(shared, session, lens.iter().copied());
    let (mut segments, mut unused, mut ends) = (Vec::new(), Vec::new(), Ends::new());
    let mut ended = false;
    for len in lens {
        left.show();
        let Some(found) = log.next().await? else { break };
        if ended {
            unused.push(found.number);
            continue;
        }
        let replay = plan::replay_after(&view, &mut ends, session, &found.scanned.entries)
            .map_err(|missing| missing.refusal(&found.path))?;
        ended = found.last;
        segments.push(Segment {
            number: found.number,
            path: found.path,
            header: found.scanned.header,
            end: found.scanned.end,
            torn_bytes: found.scanned.torn_bytes,
            last: found.last,
            entries: found.scanned.entries.len(),
            replay,
        });
        left.done(len);
    }
    Ok(Examined { session, wal_start, segments, unused, holds_streams: log.holds_streams })
}

/// How much is left of one pass over a log, shown and now and then said.
pub(super) struct Left<'a> {
    shared: &'a Shared,
    session: SessionId,
    segments: u64,
    pub(super) bytes: u64,
    /// When it was said last, by the monotonic clock.
    said: Duration,
}

impl<'a> Left<'a> {
    /// Segments of these bytes are left.
    pub(super) fn new(
        shared: &'a Shared,
        session: SessionId,
        segments: impl Iterator<Item = u64>,
    ) -> Left<'a> {
        let (count, bytes) = segments.fold((0, 0), |(count, all), bytes| (count + 1, all + bytes));
        Left { shared, session, segments: count, bytes, said: shared.env.clock.monotonic() }
    }

    /// Shows what is left.
    pub(super) fn show(&self) {
        let (segments_left, bytes_left) = (self.segments, self.bytes);
        self.shared.health.set(Health::Recovering { segments_left, bytes_left });
    }

    /// A segment of `bytes` is done.
    pub(super) fn done(&mut self, bytes: u64) {
        self.segments = self.segments.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes);
        let now = self.shared.env.clock.monotonic();
        if now.saturating_sub(self.said) >= SAID_EVERY {
            self.said = now;
            let (segments, bytes) = (self.segments, self.bytes);
            tracing::info!(session = %self.session, segments, bytes, "still to be recovered");
        }
    }
}
