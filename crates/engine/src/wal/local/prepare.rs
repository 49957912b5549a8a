//! Preparing segments ahead: owns the creation of segment files, on a thread of its own. Guarantees that a segment is
//! preallocated and its name durable before an entry is placed in it, and that it is made only after the header of the
//! one before it is synced, so that a segment without a header before another was damaged (P11); says that the device is full, and tries again
//! until it is not. Never writes anything but zeros to a segment.

use std::sync::Arc;

use kelda_env::{DiskError, DiskFile};

use super::queue::{Stopped, WalQueue};
use super::room::Slot;
use super::{segment, zeros};
use crate::retry::Backoff;
use crate::session::Session;

/// Prepares what the queue wants until it wants no more.
pub(crate) async fn run(session: Arc<Session>, queue: Arc<WalQueue>) {
    let mut backoff = Backoff::new(&session.shared.config);
    loop {
        let wanted = match queue.wanted() {
            Err(Stopped) => return,
            Ok(Some(wanted)) => wanted,
            Ok(None) => {
                queue.room_wanted().await;
                continue;
            }
        };
        if let Some(before) = wanted.number.checked_sub(1)
            && !session.until_begun(before).await
        {
            return;
        }
        match prepare(&session, &queue, wanted).await {
            Ok((slot, file)) => {
                backoff = Backoff::new(&session.shared.config);
                queue.offer_segment(slot, file);
                session.set_disk_full(false);
            }
            Err(error) if error.is_full() => {
                tracing::warn!(%error, "no space for the next segment of the write-ahead log");
                session.set_disk_full(true);
                if !session.pause(backoff.next()).await {
                    return;
                }
            }
            Err(error) => {
                session.end(&format!("cannot prepare a segment of the write-ahead log: {error}"));
                return;
            }
        }
    }
}

async fn prepare(
    session: &Session,
    queue: &WalQueue,
    wanted: Slot,
) -> Result<(Slot, Arc<dyn DiskFile>), DiskError> {
    let disk = &session.shared.env.disk;
    let path = segment::path(session.id, wanted.number);
    if queue.withdraw().is_some() {
        // The prepared one is too small for an entry that waits; it is unused, so it can be replaced.
        match disk.remove(&path).await {
            Err(error) if !error.is_not_found() => return Err(error),
            _ => {}
        }
    }
    let capacity = wanted.capacity.max(session.shared.config.segment_bytes);
    let file = disk.create_preallocated(&path, capacity).await?;
    // The name has to be durable before anything in the file is acknowledged.
    disk.sync_dir(&segment::dir(session.id)).await?;
    let slot = Slot { number: wanted.number, capacity };
    zeros::write(session, queue, slot, &file).await?;
    Ok((slot, file))
}
