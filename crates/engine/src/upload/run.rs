//! The uploader: owns the finished segments on their way to the store, on a thread of its own. Guarantees that they are
//! committed one after the other in WAL order, that a WAL file is removed only after its commit is applied, and that
//! the log cache keeps no more committed bytes than its bound. Never touches the segment being written.

use std::collections::VecDeque;
use std::sync::Arc;

use kelda_env::DiskError;
use kelda_format::{Offset, StreamId};
use tokio::sync::mpsc;

use super::finish::FinishedSegment;
use super::publish::{Finished, Publisher, Unpublished};
use crate::recovery::directory;
use crate::session::Session;
use crate::stream::registry::Registry;

/// Uploads until the channel is closed and all is committed, or the session ends.
pub(crate) async fn run(
    session: Arc<Session>,
    streams: Arc<Registry>,
    mut segments: mpsc::UnboundedReceiver<FinishedSegment>,
) {
    let publisher = Publisher {
        shared: Arc::clone(&session.shared),
        session: session.id,
        wal: session.id,
        until: Some(Arc::clone(&session)),
    };
    let mut tail = CachedTail::default();
    loop {
        let segment = tokio::select! {
            biased;
            () = session.until_ended() => return,
            segment = segments.recv() => segment,
        };
        let Some(segment) = segment else { return };
        let finished = Finished {
            number: segment.number,
            path: &segment.path,
            bytes: segment.bytes,
            summary: &segment.summary,
        };
        match publisher.publish(&finished).await {
            Ok(()) => settle(&session, &streams, &mut tail, segment).await,
            Err(Unpublished::Stopped) => return,
            Err(Unpublished::Rejected(rejection)) => {
                // P10: a wrong epoch or end offset on a live stream ends the session, as does a fence.
                session.end(&format!("a commit was refused: {rejection}"));
                return;
            }
            Err(Unpublished::Store(error)) => {
                session.end(&format!("the object store failed: {error}"));
                return;
            }
        }
    }
}

/// Everything that follows an applied commit.
async fn settle(
    session: &Arc<Session>,
    streams: &Arc<Registry>,
    tail: &mut CachedTail,
    segment: FinishedSegment,
) {
    if let Err(error) = remove_committed(session, segment.number, &segment.path).await {
        // The commit is applied, so the file is only in the way; recovery removes what lies below the WAL start.
        tracing::warn!(%error, "a committed WAL segment could not be removed");
    }
    let view = session.shared.meta.view();
    let mut ends = Vec::new();
    for (id, summary) in segment.summary.streams() {
        let Some(stream) = streams.get(id) else { continue };
        let end = summary.end.or_else(|| view.stream(id).map(|row| row.end)).unwrap_or(Offset::ZERO);
        stream.committed(end, summary.entries);
        ends.push((id, end));
    }
    tail.add(ends, segment.bytes);
    tail.evict(session.shared.config.cache_tail_bytes, streams);
    session.set_committed(segment.number + 1);
    // Dropping the segment gives back the bytes that counted as uncommitted.
}

/// Removes a committed segment. As long as the next one is not begun, a mark has to say so (P11).
async fn remove_committed(session: &Session, number: u64, path: &str) -> Result<(), DiskError> {
    let disk = &session.shared.env.disk;
    if session.has_begun(number + 1) {
        return disk.remove(path).await;
    }
    directory::mark_unbegun(disk, session.id).await?;
    let removed = disk.remove(path).await;
    if session.has_begun(number + 1) {
        // The writer may have looked for the mark before it was there.
        directory::unmark_unbegun(disk, session.id).await;
    }
    removed
}

/// Committed segments whose records are still in the log cache, oldest first. Bounded by `cache_tail_bytes`.
#[derive(Default)]
struct CachedTail {
    segments: VecDeque<(Vec<(StreamId, Offset)>, u64)>,
    bytes: u64,
}

impl CachedTail {
    fn add(&mut self, ends: Vec<(StreamId, Offset)>, bytes: u64) {
        self.bytes += bytes;
        self.segments.push_back((ends, bytes));
    }

    fn evict(&mut self, max_bytes: u64, streams: &Registry) {
        while self.bytes > max_bytes {
            let Some((ends, bytes)) = self.segments.pop_front() else { return };
            self.bytes -= bytes;
            for (id, end) in ends {
                if let Some(stream) = streams.get(id) {
                    stream.state.lock().cache.evict_through(end);
                }
            }
        }
    }
}
