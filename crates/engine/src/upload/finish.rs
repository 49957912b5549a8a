//! Finishing segments: owns the sealed segments until each has its index and footer, on a thread of its own. Guarantees
//! that a segment is finished as soon as it is sealed, however long the store makes those before it wait: from then on
//! its footer tells where its entries end, so that damage to the last one is found (P11). Never touches a segment that
//! takes entries.

use std::sync::Arc;

use bytes::Bytes;
use kelda_env::{DiskError, DiskFile};
use kelda_format::object::ObjectSource;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::plan::SegmentSummary;
use crate::retry::Backoff;
use crate::session::Session;
use crate::wal::local::segment;
use crate::wal::local::writer::SealedSegment;

/// A segment file that is an object but for its place: entries, index, footer, synced.
pub(crate) struct FinishedSegment {
    pub(crate) number: u64,
    pub(crate) path: String,
    /// Length of the file.
    pub(crate) bytes: u64,
    /// What the entries say.
    pub(crate) summary: SegmentSummary,
    /// The bytes that count as uncommitted; given back when this is dropped.
    pub(crate) _uncommitted: Option<OwnedSemaphorePermit>,
}

/// Finishes segments until the writer has closed the channel, or the session ends. Both channels are bounded by the
/// uncommitted bytes of the session.
pub(crate) async fn run(
    session: Arc<Session>,
    mut sealed: mpsc::UnboundedReceiver<SealedSegment>,
    finished: mpsc::UnboundedSender<FinishedSegment>,
) {
    loop {
        let segment = tokio::select! {
            biased;
            () = session.until_ended() => return,
            segment = sealed.recv() => segment,
        };
        let Some(segment) = segment else { return };
        match finish(&session, segment).await {
            // A closed channel means that the uploader is gone, and so is the session.
            Some(segment) => drop(finished.send(segment)),
            None => return,
        }
    }
}

/// Appends index and footer, for which the segment has room, and syncs. None when the session ended.
async fn finish(session: &Arc<Session>, sealed: SealedSegment) -> Option<FinishedSegment> {
    let SealedSegment { header, file, end, summary, uncommitted } = sealed;
    let index = summary.index().clone().finish(ObjectSource::Segment(header.context));
    let trailer = Bytes::from(index.encode_trailer(end));
    let mut backoff = Backoff::new(&session.shared.config);
    loop {
        match write_trailer(&file, &trailer, end).await {
            Ok(bytes) => {
                let path = segment::path(header.context.session, header.number);
                let number = header.number;
                return Some(FinishedSegment { number, path, bytes, summary, _uncommitted: uncommitted });
            }
            Err(error) if error.is_full() => tracing::warn!(%error, "no space for the index of a segment"),
            Err(error) => {
                session.end(&format!("the index of a WAL segment could not be written: {error}"));
                return None;
            }
        }
        if !session.pause(backoff.next()).await {
            return None;
        }
    }
}

/// Returns the length of the file.
async fn write_trailer(file: &Arc<dyn DiskFile>, trailer: &Bytes, end: u64) -> Result<u64, DiskError> {
    let bytes = end + trailer.len() as u64;
    file.write_at(std::slice::from_ref(trailer), end).await?;
    file.set_len(bytes).await?;
    file.sync_data().await?;
    Ok(bytes)
}
