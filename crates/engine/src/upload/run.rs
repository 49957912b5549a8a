//! The uploader of segments: owns the finished segments on their way to the store, on a thread of its own. Guarantees that
//! they are committed one after the other in WAL order, and that a WAL file is removed only after its commit is applied.
//! Never touches the segment being written.

use std::sync::Arc;

use kelda_env::DiskError;
use tokio::sync::mpsc;

use super::commit::Committer;
use super::finish::FinishedSegment;
use super::publish::{Finished, Publisher};
use super::settle::CachedTail;
use crate::recovery::directory;
use crate::session::Session;
use crate::stream::registry::Registry;

/// Uploads until the channel is closed and all is committed, or the session ends.
pub(crate) async fn run(
    session: Arc<Session>,
    streams: Arc<Registry>,
    mut segments: mpsc::UnboundedReceiver<FinishedSegment>,
) {
    let publisher = Publisher { committer: Committer::of(&session) };
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
            Err(unpublished) => {
                unpublished.end(&session);
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
    tail.committed(session, streams, &segment.summary, segment.bytes);
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
