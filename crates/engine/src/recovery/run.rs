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
use super::log::{Found, Log};
use super::plan::{self, Replay};
use crate::error::StartError;
use crate::health::Health;
use crate::propose::{Failure, propose};
use crate::session::Shared;
use crate::upload::commit::{Committer, Unpublished};
use crate::upload::publish::{Finished, Publisher};
use crate::wal::local::segment;

/// Looks at everything that recovery will read, before anything is changed: whatever is damaged or foreign is
/// reported here.
pub(crate) async fn check(shared: &Shared) -> Result<(), StartError> {
    directory::check(shared).await?;
    let sessions: Vec<(SessionId, u64)> = {
        let view = shared.meta.view();
        let unended = |state| matches!(state, SessionState::Live | SessionState::Fenced);
        let rows = view.sessions().filter(|row| row.id.node == shared.identity.node && unended(row.state));
        rows.filter(|row| row.wal == WalKind::Local).map(|row| (row.id, row.wal_start)).collect()
    };
    for (session, wal_start) in sessions {
        let mut log = Log::open(&shared.env.disk, &shared.meta.view(), session, wal_start).await?;
        while log.next().await?.is_some() {}
    }
    Ok(())
}

/// Recovers the local log of an ended session of this node, for the live session `by`.
pub(crate) async fn recover(
    shared: &Arc<Shared>,
    session: SessionId,
    by: SessionId,
) -> Result<(), StartError> {
    // P6: the session is fenced in this view, so the WAL start in it does not move but by this recovery.
    let wal_start = wal_start(shared, session)?;
    let committer = Committer { shared: Arc::clone(shared), session: by, wal: session, until: None };
    let publisher = Publisher { committer };
    let mut log = Log::open(&shared.env.disk, &shared.meta.view(), session, wal_start).await?;
    tracing::info!(session = %session, segments = log.left(), wal_start, "recovering a write-ahead log");
    let mut entries = 0;
    loop {
        shared
            .health
            .set(Health::Recovering { segments_left: log.left(), bytes_left: log.bytes_left().await? });
        let Some(found) = log.next().await? else { break };
        if found.last {
            log.remove_unused().await?;
        }
        entries += found.scanned.entries.len();
        commit(shared, &publisher, &found).await?;
    }
    if entries == 0 && log.holds_streams {
        tracing::warn!(session = %session, "the session held streams, but its write-ahead log has no entries");
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
async fn commit(shared: &Arc<Shared>, publisher: &Publisher, found: &Found) -> Result<(), StartError> {
    let Some(header) = found.scanned.header else {
        // Prepared and never used; it goes with the directory.
        return Ok(());
    };
    if found.scanned.torn_bytes > 0 {
        tracing::warn!(
            file = found.path,
            position = found.scanned.end,
            bytes = found.scanned.torn_bytes,
            "the end of the log was torn by a crash; these bytes were not known to be synced and are dropped"
        );
    }
    let replay = plan::replay(&shared.meta.view(), publisher.committer.wal, &found.scanned.entries)
        .map_err(|missing| missing.refusal(&found.path))?;
    if replay.dropped_entries > 0 {
        tracing::info!(
            file = found.path,
            entries = replay.dropped_entries,
            "entries of streams that are gone"
        );
    }
    let index = replay.summary.index().clone().finish(ObjectSource::Segment(header.context));
    let trailer = Bytes::from(index.encode_trailer(found.scanned.end));
    let path = finish(shared, found, &trailer).await.map_err(|error| storage(&error))?;
    let bytes = found.scanned.end + trailer.len() as u64;
    publish(publisher, found, &path, bytes, &replay).await?;
    // The last committed segment stays until the session is recovered: it says that none is missing after it.
    let mut obsolete: Vec<String> = (path != found.path).then_some(path).into_iter().collect();
    obsolete.extend(found.number.checked_sub(1).map(|before| segment::path(found.session, before)));
    for path in obsolete {
        ignore_missing(shared.env.disk.remove(&path).await).map_err(|error| storage(&error))?;
    }
    Ok(())
}

async fn publish(
    publisher: &Publisher,
    found: &Found,
    path: &str,
    bytes: u64,
    replay: &Replay,
) -> Result<(), StartError> {
    let finished = Finished { number: found.number, path, bytes, summary: &replay.summary };
    publisher.publish(&finished).await.map_err(unpublished)
}

/// Makes a segment an object file: entries, index, footer, synced. Returns its path.
///
/// A segment after which another was begun was synced, and only gets its index. The last one is rewritten into a
/// fresh file: it may hold pages that a failed sync left in memory only, and no sync of that file proves them.
async fn finish(shared: &Shared, found: &Found, trailer: &Bytes) -> Result<String, DiskError> {
    let disk = &shared.env.disk;
    let end = found.scanned.end;
    if !found.last {
        match append_trailer(disk, &found.path, trailer, end).await {
            Ok(()) => return Ok(found.path.clone()),
            // Never retried on the same file.
            Err(DiskError::SyncFailed { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    let path = segment::rewrite_path(found.session, found.number);
    ignore_missing(disk.remove(&path).await)?;
    let file = disk.create(&path).await?;
    let entries = found.bytes.slice(..usize::try_from(end).unwrap_or(usize::MAX).min(found.bytes.len()));
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
