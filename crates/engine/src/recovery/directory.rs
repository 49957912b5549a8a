//! The directories of write-ahead logs: owns what lies in them, guarantees that nothing is removed which is not known
//! to be committed or never used. Never reads a segment's entries.

use std::sync::Arc;

use kelda_env::{Disk, DiskError};
use kelda_format::rows::SessionState;
use kelda_format::{NodeId, SessionId};
use kelda_meta::SessionStatus;

use crate::error::StartError;
use crate::session::Shared;
use crate::wal::local::segment::{self, Name, WAL_DIR};

/// Numbers of the segments in the WAL directory of a session, ascending; none when there is no directory.
pub(crate) async fn segments(disk: &Arc<dyn Disk>, session: SessionId) -> Result<Vec<u64>, DiskError> {
    let mut numbers: Vec<u64> = names(disk, &segment::dir(session))
        .await?
        .iter()
        .filter_map(|name| match segment::parse_name(name) {
            Name::Segment(number) => Some(number),
            Name::Rewrite(_) | Name::Unbegun | Name::Unknown => None,
        })
        .collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// Says in the WAL directory of a session that its first uncommitted segment may not be begun: durable when it returns.
pub(crate) async fn mark_unbegun(disk: &Arc<dyn Disk>, session: SessionId) -> Result<(), DiskError> {
    match disk.create(&segment::unbegun_path(session)).await {
        Ok(_) | Err(DiskError::Exists { .. }) => {}
        Err(error) => return Err(error),
    }
    disk.sync_dir(&segment::dir(session)).await
}

/// Takes the mark away, once the segment has a synced header. A mark that stays hides damage and raises no alarm, so
/// that it goes need not be durable, and a failure is only logged.
pub(crate) async fn unmark_unbegun(disk: &Arc<dyn Disk>, session: SessionId) {
    if let Err(error) = ignore_missing(disk.remove(&segment::unbegun_path(session)).await) {
        tracing::warn!(%error, "the mark that no segment is begun could not be removed");
    }
}

/// Removes the WAL of a session whose end the log knows. What no WAL writes is left, and so is the directory then.
pub(crate) async fn remove(shared: &Shared, session: SessionId) -> Result<(), DiskError> {
    let disk = &shared.env.disk;
    let dir = segment::dir(session);
    let mut left = false;
    for name in names(disk, &dir).await? {
        if segment::parse_name(&name) == Name::Unknown {
            tracing::warn!(file = format!("{dir}/{name}"), "left alone: not a file of the write-ahead log");
            left = true;
            continue;
        }
        ignore_missing(disk.remove(&format!("{dir}/{name}")).await)?;
    }
    if left || !disk.exists(&dir).await? {
        return Ok(());
    }
    ignore_missing(disk.remove_dir(&dir).await)?;
    disk.sync_dir(WAL_DIR).await
}

/// Looks at the directories before anything is registered: one that belongs to no session of this metadata means that
/// data directory and metadata do not belong together. Removes those of sessions that ended well.
pub(crate) async fn check(shared: &Shared) -> Result<(), StartError> {
    let disk = &shared.env.disk;
    let view = shared.meta.view();
    for name in names(disk, WAL_DIR).await.map_err(|error| super::run::storage(&error))? {
        let foreign = |detail: String| Err(StartError::Foreign { file: format!("{WAL_DIR}/{name}"), detail });
        let Ok(epoch) = name.parse() else {
            tracing::warn!(file = format!("{WAL_DIR}/{name}"), "left alone: not a write-ahead log");
            continue;
        };
        let epoch = kelda_format::SessionEpoch(epoch);
        let session = SessionId { node: shared.identity.node, epoch };
        match view.session_status(session) {
            SessionStatus::Known(SessionState::Live | SessionState::Fenced) => {}
            SessionStatus::Known(SessionState::Closed | SessionState::Recovered)
            | SessionStatus::Forgotten => {
                remove(shared, session).await.map_err(|error| super::run::storage(&error))?;
            }
            SessionStatus::Unknown => {
                let of = |node| view.session_status(SessionId { node, epoch });
                let known = |node: &NodeId| matches!(of(*node), SessionStatus::Known(_));
                if let Some(used_by) = view.nodes().map(|row| row.node).find(known) {
                    return Err(StartError::OtherNode { used_by, node: session.node });
                }
                return foreign(format!(
                    "the metadata knows no session {session}; it is older than this data directory, or another's"
                ));
            }
        }
    }
    Ok(())
}

/// The names in a directory; none when there is no directory.
pub(crate) async fn names(disk: &Arc<dyn Disk>, dir: &str) -> Result<Vec<String>, DiskError> {
    match disk.read_dir(dir).await {
        Ok(names) => Ok(names),
        Err(error) if error.is_not_found() => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

pub(crate) fn ignore_missing(result: Result<(), DiskError>) -> Result<(), DiskError> {
    match result {
        Err(error) if error.is_not_found() => Ok(()),
        result => result,
    }
}
