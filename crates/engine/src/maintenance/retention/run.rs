//! Applying the limits: owns the walk over the streams that have some, and the trims. Guarantees that a stream is trimmed by
//! its owner (P5) and by whole segments, that an idle stream ages out although nothing fills its segment, and that a walk over
//! many streams lets others run. Never trims while the clock is not right.

use std::time::Duration;

use futures::stream::{self, StreamExt};
use kelda_format::{Offset, StreamId, Timestamp};
use kelda_meta::State;

use super::{Limits, cut};
use crate::engine::{Inner, Running};
use crate::error::EndError;

/// Streams that are looked at before others may run.
const STREAMS_AT_A_TIME: usize = 256;

/// Trims in flight: enough to fill entries of the metadata log.
const TRIMS_AT_ONCE: usize = 64;

/// How long a walk waits for one trim, which waits for its turn while the stream is closed or moved.
const TRIM_WAIT: Duration = Duration::from_secs(10);

/// What a look at a stream came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Look {
    /// Where it should begin.
    cut: Option<Offset>,
    /// What is not committed has to be before its limits can be kept.
    commit: bool,
}

impl Inner {
    /// Applies the limits of all streams, a few at a time.
    pub(crate) async fn retain_all(&self) {
        if self.shared.upkeep.clock.fault().is_some() {
            return;
        }
        let mut commit = false;
        let mut from = StreamId(0);
        loop {
            let ids: Vec<StreamId> = self.shared.meta.view().bounded(from).take(STREAMS_AT_A_TIME).collect();
            let Some(last) = ids.last() else { break };
            from = StreamId(last.0 + 1);
            commit |= self.retain_these(ids).await;
            tokio::task::yield_now().await;
        }
        if commit {
            self.commit_for_limits().await;
        }
    }

    /// Applies the limits of streams that were appended to.
    pub(crate) async fn retain_touched(&self) {
        if self.shared.upkeep.clock.fault().is_some() {
            return;
        }
        loop {
            let ids = self.shared.upkeep.grown.take(STREAMS_AT_A_TIME);
            if ids.is_empty() {
                return;
            }
            self.retain_these(ids).await;
            tokio::task::yield_now().await;
        }
    }

    /// Applies the limits of these streams; whether one needs a commit first.
    async fn retain_these(&self, ids: Vec<StreamId>) -> bool {
        let running = self.current.load_full();
        let looks: Vec<(StreamId, Look)> = {
            let view = self.shared.meta.view();
            ids.into_iter().map(|id| (id, running.look_at_limits(&view, id))).collect()
        };
        let commit = looks.iter().any(|(_, look)| look.commit);
        let trims = looks.into_iter().filter_map(|(id, look)| Some((id, look.cut?)));
        let trims = stream::iter(trims).map(|(id, before)| {
            let running = &running;
            async move {
                match self.shared.env.timeout(TRIM_WAIT, running.give_up(id, before)).await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => tracing::debug!(stream = id.0, %error, "limits wait"),
                    Err(elapsed) => tracing::debug!(stream = id.0, %elapsed, "limits wait"),
                }
            }
        });
        trims.buffer_unordered(TRIMS_AT_ONCE).collect::<()>().await;
        commit
    }

    /// Has what is not committed committed, but does not wait for a store that is slow: the next walk looks again.
    async fn commit_for_limits(&self) {
        let running = self.current.load_full();
        let limit = self.shared.config.maintenance.retention_interval;
        // Not in time is a reason to look again later, as every walk does.
        let _ = self.shared.env.timeout(limit, running.flush()).await;
    }

    /// Applies the limits of one stream to what is committed, at once.
    pub(crate) async fn retain_one(&self, stream: StreamId) -> Result<(), EndError> {
        if self.shared.upkeep.clock.fault().is_some() {
            return Ok(());
        }
        let running = self.current.load_full();
        // The size of segments may have changed.
        self.shared.upkeep.compaction.changed.add([stream]);
        let look = running.look_at_limits(&self.shared.meta.view(), stream);
        match look.cut {
            Some(before) => running.give_up(stream, before).await,
            None => Ok(()),
        }
    }
}

impl Running {
    /// What the limits of a stream ask for now.
    fn look_at_limits(&self, view: &State, id: StreamId) -> Look {
        let retention = view.retention(id);
        let Some(row) = view.stream(id).filter(|_| retention.is_bound()) else { return Look::default() };
        let shared = &self.session.shared;
        let limits = Limits::of(&retention, shared.config.segment_bytes);
        let now = shared.now();
        let waiting = self.waiting(id, row.end);
        let commit = waiting.as_ref().is_some_and(|waiting| {
            limits.is_aged(waiting.last, now) || waiting.bytes >= limits.segment_bytes
        });
        Look { cut: cut(view.refs(id), row.bytes, &limits, now, waiting.is_some()), commit }
    }

    /// What of a stream waits to be committed beyond `committed`.
    fn waiting(&self, id: StreamId, committed: Offset) -> Option<Waiting> {
        let open = self.streams.get(id)?;
        let state = open.state.lock();
        (state.next > committed)
            .then(|| Waiting { last: state.last_timestamp, bytes: state.cache.bytes_from(committed) })
    }

    /// Removes what lies before an offset that was planned; whoever holds the stream elsewhere does it there.
    async fn give_up(&self, id: StreamId, before: Offset) -> Result<(), EndError> {
        match self.trim(id, before).await {
            Ok(_) | Err(EndError::Gone | EndError::Elsewhere(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Records that are accepted and not committed.
struct Waiting {
    /// Time of the newest.
    last: Timestamp,
    /// Bytes of the durable ones.
    bytes: u64,
}
