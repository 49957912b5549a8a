//! Recovery of the local WAL: reads what ended sessions left, commits it, releases their streams. Guarantees that the
//! fence is applied first and the WAL start read in a view that contains it (P6; the lock of the data directory takes
//! the place of the seal), that each commit names the WAL start it expects (P7), that nothing is removed before the
//! commit that covers it is applied, and that a file which must not be damaged and is stops everything (P11). Never
//! guesses, never changes a file that it refuses.

use std::sync::Arc;

use bytes::Bytes;
use kelda_env::{Disk, DiskError, OpenMode};
use kelda_format::SessionId;
use kelda_format::command::{CompleteRecovery, ExpireReservations};
use kelda_format::object::ObjectSource;
use kelda_format::rows::{SessionState, WalKind};

use super::directory::{self, ignore_missing};
use super::examine::{Examined, Left, Segment, examine};
use crate::error::StartError;
use crate::propose::{Failure, propose};
use crate::session::Shared;
use crate::upload::commit::{Committer, Unpublished};
use crate::upload::publish::{Finished, Publisher};
use crate::wal::local::segment;

/// Looks at everything that recovery will read, before anything is changed: whatever is damaged or foreign is
/// reported here. Returns what was found of each log, so that nothing has to be read again.
pub(crate) async fn check(shared: &Shared) -> Result<Vec<Examined>, StartError> {
    directory::check(shared).await?;
    let sessions: Vec<(SessionId, u64)> = {
        let view = shared.meta.view();
        let unended = |state| matches!(state, SessionState::Live | SessionState::Fenced);
        let rows = view.sessions().filter(|row| row.id.node == shared.identity.node && unended(row.state));
        rows.filter(|row| row.wal == WalKind::Local).map(|row| (row.id, row.wal_start)).collect()
    };
    let mut examined = Vec::with_capacity(sessions.len());
    for (session, wal_start) in sessions {
        examined.push(examine(shared, session, wal_start).await?);
    }
    Ok(examined)
}

/// Recovers the local log of an ended session of this node, for the live session `by`. `examined` is what the check found.
pub(crate) async fn recover(
    shared: &Arc<Shared>,
    session: SessionId,
    by: SessionId,
    examined: &mut Vec<Examined>,
) -> Result<(), StartError> {
    // P6: the session is fenced in this view, so the WAL start in it does not move but by this recovery.
    let start = wal_start(shared, session)?;
    let at = examined.iter().position(|log| (log.session, log.wal_start) == (session, start));
    let log = match at {
        Some(at) => examined.swap_remove(at),
        None => examine(shared, session, start).await?,
    };
    let committer = Committer { shared: Arc::clone(shared), session: by, wal: session, until: None };
    let publisher = Publisher { committer };
    let mut left = Left::new(shared, session, log.segments.iter().map(|segment| segment.end));
    tracing::info!(session = %session, segments = log.segments.len(), bytes = left.bytes, "committing a write-ahead log");
    if log.entries() == 0 && log.holds_streams {
        tracing::warn!(session = %session, "the session held streams, but its write-ahead log has no entries");
    }
    for segment in &log.segments {
        left.show();
        if segment.last {
            remove_unused(shared, session, &log.unused).await?;
        }
        commit(shared, &publisher, session, segment).await?;
        left.done(segment.end);
    }
    let at = shared.now();
    let wal_start = self::wal_start(shared, session)?;
    proposed(propose(shared, CompleteRecovery { session, by, wal_start, at }).await)?;
    // P13: objects whose upload the session did not commit are destroyed through the queue.
    proposed(propose(shared, ExpireReservations { owner: Some(session), before: at, at }).await)?;
    directory::remove(shared, session).await.map_err(|error| storage(&error))?;
    tracing::info!(session = %session, "recovered");
    Ok(())
}

/// Removes the segments behind the last one that was begun. They were prepared and never used, and their space may
/// be what is needed to rewrite the last one on a full device.
async fn remove_unused(shared: &Shared, session: SessionId, unused: &[u64]) -> Result<(), StartError> {
    for number in unused {
        let path = segment::path(session, *number);
        ignore_missing(shared.env.disk.remove(&path).await).map_err(|error| storage(&error))?;
    }
    Ok(())
}

pub(super) fn wal_start(shared: &Shared, session: SessionId) -> Result<u64, StartError> {
    let view = shared.meta.view();
    let row = view.session(session);
    row.map(|row| row.wal_start).ok_or_else(|| StartError::Meta(format!("session {session} has no row")))
}

pub(crate) fn proposed<T>(result: Result<T, Failure>) -> Result<(), StartError> {
    match result {
        Ok(_) => Ok(()),
        Err(Failure::Rejected(rejection)) => Err(StartError::Meta(rejection.to_string())),
        Err(Failure::Unavailable(why) | Failure::Unknown(why)) => Err(StartError::Meta(why)),
    }
}

/// Commits what one segment holds, then removes the one before it.
async fn commit(
    shared: &Arc<Shared>,
    publisher: &Publisher,
    session: SessionId,
    segment: &Segment,
) -> Result<(), StartError> {
    let Some(header) = segment.header else {
        // Prepared and never used; it goes with the directory.
        return Ok(());
    };
    if segment.torn_bytes > 0 {
        tracing::warn!(
            file = segment.path,
            position = segment.end,
            bytes = segment.torn_bytes,
            "the end of the log was torn by a crash; these bytes were not known to be synced and are dropped"
        );
    }
    if segment.replay.dropped_entries > 0 {
        let entries = segment.replay.dropped_entries;
        tracing::info!(file = segment.path, entries, "entries of streams that are gone");
    }
    let index = segment.replay.summary.index().clone().finish(ObjectSource::Segment(header.context));
    let trailer = Bytes::from(index.encode_trailer(segment.end));
    let path = finish(shared, session, segment, &trailer).await.map_err(|error| storage(&error))?;
    let bytes = segment.end + trailer.len() as u64;
    let finished = Finished { number: segment.number, path: &path, bytes, summary: &segment.replay.summary };
    publisher.publish(&finished).await.map_err(unpublished)?;
    // The last committed segment stays until the session is recovered: it says that none is missing after it.
    let mut obsolete: Vec<String> = (path != segment.path).then_some(path).into_iter().collect();
    obsolete.extend(segment.number.checked_sub(1).map(|before| segment::path(session, before)));
    for path in obsolete {
        ignore_missing(shared.env.disk.remove(&path).await).map_err(|error| storage(&error))?;
    }
    Ok(())
}

/// Makes a segment an object file: entries, index, footer, synced. Returns its path.
///
/// A segment after which another was begun was synced, and only gets its index. The last one is rewritten into a
/// fresh file: it may hold pages that a failed sync left in memory only, and no sync of that file proves them.
async fn finish(
    shared: &Shared,
    session: SessionId,
    segment: &Segment,
    trailer: &Bytes,
) -> Result<String, DiskError> {
    let disk = &shared.env.disk;
    let end = segment.end;
    if !segment.last {
        match append_trailer(disk, &segment.path, trailer, end).await {
            Ok(()) => return Ok(segment.path.clone()),
            // Never retried on the same file.
            Err(DiskError::SyncFailed { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    let path = segment::rewrite_path(session, segment.number);
    ignore_missing(disk.remove(&path).await)?;
    let file = disk.create(&path).await?;
    let bytes = disk.read(&segment.path).await?;
    let entries = bytes.slice(..usize::try_from(end).unwrap_or(usize::MAX).min(bytes.len()));
    file.write_at(&[entries, trailer.clone()], 0).await?;
    file.sync_data().await?;
    Ok(path)
}

async fn append_trailer(
    disk: &Arc<dyn Disk>,
    path: &str,
    trailer: &Bytes,
    end: u64,
) -> Result<(), DiskError> {
    let file = disk.open(path, OpenMode::ReadWrite).await?;
    file.write_at(std::slice::from_ref(trailer), end).await?;
    file.set_len(end + trailer.len() as u64).await?;
    file.sync_data().await
}

/// A failed commit as a reason not to start.
pub(crate) fn unpublished(error: Unpublished) -> StartError {
    match error {
        Unpublished::Stopped => StartError::Storage("stopped".to_owned()),
        Unpublished::Rejected(rejection) => StartError::Meta(rejection.to_string()),
        Unpublished::Store(error) => StartError::Storage(error),
    }
}

/// An error of the disk as a reason not to start.
pub(crate) fn storage(error: &DiskError) -> StartError {
    if error.is_full() {
        StartError::DiskFull { during: format!("recovering {}", error.path()) }
    } else {
        StartError::Storage(error.to_string())
    }
}
