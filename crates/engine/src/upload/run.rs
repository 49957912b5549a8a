//! The uploader: owns the sealed segments on their way to the store, on a thread of its own. Guarantees that they are
//! committed one after the other in WAL order, that a WAL file is removed only after its commit is applied, and that
//! the log cache keeps no more committed bytes than its bound. Never touches the segment being written.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use kelda_env::DiskError;
use kelda_format::object::{ObjectIndex, ObjectSource};
use kelda_format::{Offset, StreamId};
use tokio::sync::mpsc;

use super::publish::{Finished, Publisher, Unpublished};
use crate::retry::Backoff;
use crate::session::Session;
use crate::stream::registry::Registry;
use crate::wal::writer::{SealedSegment, path_of};

/// Uploads until the writer has closed the channel and all is committed, or the session ends.
pub(crate) async fn run(
    session: Arc<Session>,
    streams: Arc<Registry>,
    mut sealed: mpsc::UnboundedReceiver<SealedSegment>,
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
            segment = sealed.recv() => segment,
        };
        let Some(segment) = segment else { return };
        match upload(&session, &publisher, &segment).await {
            Ok(bytes) => settle(&session, &streams, &mut tail, segment, bytes).await,
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

async fn upload(
    session: &Arc<Session>,
    publisher: &Publisher,
    segment: &SealedSegment,
) -> Result<u64, Unpublished> {
    let path = path_of(segment);
    let bytes = finish(session, segment).await?;
    let finished = Finished { number: segment.header.number, path: &path, bytes, summary: &segment.summary };
    publisher.publish(&finished).await?;
    Ok(bytes)
}

/// Appends index and footer, for which the segment has room, and syncs. Returns the length of the object.
async fn finish(session: &Arc<Session>, segment: &SealedSegment) -> Result<u64, Unpublished> {
    let index = index_of(segment);
    let trailer = Bytes::from(index.encode_trailer(segment.end));
    let bytes = segment.end + trailer.len() as u64;
    let mut backoff = Backoff::new(&session.shared.config);
    loop {
        match write_trailer(segment, &trailer, bytes).await {
            Ok(()) => return Ok(bytes),
            Err(error) if error.is_full() => tracing::warn!(%error, "no space for the index of a segment"),
            Err(error) => {
                session.end(&format!("the index of a WAL segment could not be written: {error}"));
                return Err(Unpublished::Stopped);
            }
        }
        if !session.pause(backoff.next()).await {
            return Err(Unpublished::Stopped);
        }
    }
}

fn index_of(segment: &SealedSegment) -> ObjectIndex {
    segment.summary.index().clone().finish(ObjectSource::Segment(segment.header.context))
}

async fn write_trailer(segment: &SealedSegment, trailer: &Bytes, bytes: u64) -> Result<(), DiskError> {
    segment.file.write_at(std::slice::from_ref(trailer), segment.end).await?;
    segment.file.set_len(bytes).await?;
    segment.file.sync_data().await
}

/// Everything that follows an applied commit.
async fn settle(
    session: &Arc<Session>,
    streams: &Arc<Registry>,
    tail: &mut CachedTail,
    segment: SealedSegment,
    bytes: u64,
) {
    let path = path_of(&segment);
    if let Err(error) = session.shared.env.disk.remove(&path).await {
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
    tail.add(ends, bytes);
    tail.evict(session.shared.config.cache_tail_bytes, streams);
    session.set_committed(segment.header.number + 1);
    // Dropping the segment gives back the bytes that counted as uncommitted.
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
