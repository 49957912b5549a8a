//! Recovery of the local WAL: reads what ended sessions left, commits it, releases their streams. Guarantees that the
//! fence is applied first and the WAL start read in a view that contains it (P6; the lock of the data directory takes
//! the place of the seal), that each commit names the WAL start it expects (P7), that nothing is removed before the
//! commit that covers it is applied, and that a file which must not be damaged and is stops everything (P11). Never
//! guesses, never changes a file that it refuses.

use std::sync::Arc;

use bytes::Bytes;
use kelda_env::{Disk, DiskError, OpenMode};
use kelda_format::command::{CompleteRecovery, ExpireReservations};
use kelda_format::object::ObjectSource;
use kelda_format::rows::{SessionState, WalKind};
use kelda_format::wal::SEGMENT_HEADER_BYTES;
use kelda_format::{SessionId, Timestamp};

use super::directory::{self, ignore_missing};
use super::plan::{self, Replay};
use crate::error::StartError;
use crate::health::Health;
use crate::propose::{Failure, propose};
use crate::session::Shared;
use crate::upload::publish::{Finished, Publisher, Unpublished};
use crate::wal::scan::{self, Expected, Scanned, Unreadable};
use crate::wal::segment;

/// Looks at everything that recovery will read, before anything is changed: whatever is damaged or foreign is
/// reported here.
pub(crate) async fn check(shared: &Shared) -> Result<(), StartError> {
    directory::check(shared).await?;
    let sessions: Vec<(SessionId, u64)> = {
        let view = shared.meta.view();
        let unended = |state| matches!(state, SessionState::Live | SessionState::Fenced);
        let rows = view.sessions().filter(|row| row.id.node == shared.identity.node && unended(row.state));
        rows.map(|row| (row.id, row.wal_start)).collect()
    };
    for (session, wal_start) in sessions {
        let mut log = Log::open(shared, session, wal_start).await?;
        while log.next().await?.is_some() {}
    }
    Ok(())
}

/// Recovers every ended session of this node, for the live session `by`.
pub(crate) async fn recover_all(shared: &Arc<Shared>, by: SessionId) -> Result<(), StartError> {
    let sessions: Vec<SessionId> = {
        let view = shared.meta.view();
        let rows = view.sessions().filter(|row| row.id.node == by.node && row.state == SessionState::Fenced);
        rows.filter(|row| row.wal == WalKind::Local).map(|row| row.id).collect()
    };
    for session in sessions {
        recover(shared, session, by).await?;
    }
    Ok(())
}

async fn recover(shared: &Arc<Shared>, session: SessionId, by: SessionId) -> Result<(), StartError> {
    // P6: the session is fenced in this view, so the WAL start in it does not move but by this recovery.
    let wal_start = wal_start(shared, session)?;
    let publisher = Publisher { shared: Arc::clone(shared), session: by, wal: session, until: None };
    let mut log = Log::open(shared, session, wal_start).await?;
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
    let at = Timestamp(shared.env.clock.now());
    let wal_start = self::wal_start(shared, session)?;
    proposed(propose(shared, CompleteRecovery { session, by, wal_start, at }).await)?;
    // P13: objects whose upload the session did not commit are destroyed through the queue.
    proposed(propose(shared, ExpireReservations { owner: Some(session), before: at, at }).await)?;
    directory::remove(shared, session).await.map_err(|error| storage(&error))?;
    tracing::info!(session = %session, "recovered");
    Ok(())
}

fn wal_start(shared: &Shared, session: SessionId) -> Result<u64, StartError> {
    let view = shared.meta.view();
    let row = view.session(session);
    row.map(|row| row.wal_start).ok_or_else(|| StartError::Meta(format!("session {session} has no row")))
}

fn proposed<T>(result: Result<T, Failure>) -> Result<(), StartError> {
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
    let replay =
        plan::replay(&shared.meta.view(), publisher.wal, &found.scanned.entries).map_err(|missing| {
            StartError::Corrupt {
                file: found.path.clone(),
                position: missing.position,
                detail: format!(
                    "stream {} goes on at offset {}, but {} has to come next",
                    missing.stream, missing.found, missing.expected
                ),
            }
        })?;
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
    publisher.publish(&finished).await.map_err(|error| match error {
        Unpublished::Stopped => StartError::Storage("stopped".to_owned()),
        Unpublished::Rejected(rejection) => StartError::Meta(rejection.to_string()),
        Unpublished::Store(error) => StartError::Storage(error),
    })
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

/// A segment that was read and judged.
struct Found {
    session: SessionId,
    number: u64,
    path: String,
    bytes: Bytes,
    scanned: Scanned,
    /// Whether no later segment was begun.
    last: bool,
}

/// The segments of one WAL from its start on, read one at a time.
struct Log<'a> {
    shared: &'a Shared,
    session: SessionId,
    /// The numbers from the WAL start on.
    numbers: Vec<u64>,
    at: usize,
    /// The last group of the segments before; none before the first segment, whose header says where it is.
    group_before: Option<u64>,
    /// Whether the session holds streams: otherwise nothing in its log counts.
    holds_streams: bool,
    /// Whether the segment at the WAL start has a header for certain.
    begun: bool,
}

impl<'a> Log<'a> {
    async fn open(shared: &'a Shared, session: SessionId, wal_start: u64) -> Result<Log<'a>, StartError> {
        let (disk, mark) = (&shared.env.disk, segment::unbegun_path(session));
        let all = directory::segments(disk, session).await.map_err(|error| storage(&error))?;
        // What lies below the WAL start is committed; a crash came between the commit and its removal.
        let before = all.first().is_some_and(|number| *number < wal_start);
        let numbers: Vec<u64> = all.into_iter().filter(|number| *number >= wal_start).collect();
        // Recovery never passes a slot that it has not read (P6).
        for (expected, number) in (wal_start..).zip(&numbers) {
            if *number != expected {
                return Err(StartError::Corrupt {
                    file: segment::path(session, expected),
                    position: 0,
                    detail: format!("the segment is missing, but segment {number} is there"),
                });
            }
        }
        let holds_streams = shared.meta.view().held_by(session).next().is_some();
        let begun = holds_streams && !before && !disk.exists(&mark).await.map_err(|error| storage(&error))?;
        if begun && numbers.is_empty() {
            return Err(StartError::Corrupt {
                file: segment::path(session, wal_start),
                position: 0,
                detail: format!(
                    "the segment is missing, and session {session} held streams; an empty file {mark} makes the \
                     node start without what the segment held"
                ),
            });
        }
        Ok(Log { shared, session, numbers, at: 0, group_before: None, holds_streams, begun })
    }

    fn left(&self) -> u64 {
        (self.numbers.len() - self.at) as u64
    }

    async fn bytes_left(&self) -> Result<u64, StartError> {
        let mut bytes = 0;
        for number in &self.numbers[self.at..] {
            let path = segment::path(self.session, *number);
            bytes += self.shared.env.disk.len(&path).await.map_err(|error| storage(&error))?;
        }
        Ok(bytes)
    }

    async fn next(&mut self) -> Result<Option<Found>, StartError> {
        let Some(number) = self.numbers.get(self.at).copied() else { return Ok(None) };
        let path = segment::path(self.session, number);
        let bytes = self.shared.env.disk.read(&path).await.map_err(|error| storage(&error))?;
        let mut expected = self.expected(number);
        let header = read(&path, scan::read_header(&bytes, &expected))?;
        let begun = match self.numbers.get(self.at + 1) {
            Some(next) => Some(format!("segment {next} was prepared later")),
            None => (self.begun && self.at == 0).then(|| format!("session {} held streams", self.session)),
        };
        if let Some(why) = begun.filter(|_| header.is_none()) {
            let detail = format!("no header in {} bytes, but {why}, so one was synced", bytes.len());
            return Err(StartError::Corrupt { file: path, position: 0, detail });
        }
        expected.group_before = self
            .group_before
            .unwrap_or_else(|| header.map_or(0, |header| header.first_group.saturating_sub(1)));
        expected.next_first_group = self.first_group_after(number).await?;
        let scanned = read(&path, scan::scan(&bytes, &expected))?;
        self.at += 1;
        self.group_before = Some(scanned.last_group);
        let last = expected.next_first_group.is_none();
        Ok(Some(Found { session: self.session, number, path, bytes, scanned, last }))
    }

    /// Removes the segments behind the last one that was begun. They were prepared and never used, and their space may
    /// be what is needed to rewrite the last one on a full device.
    async fn remove_unused(&mut self) -> Result<(), StartError> {
        for number in self.numbers.split_off(self.at) {
            let path = segment::path(self.session, number);
            ignore_missing(self.shared.env.disk.remove(&path).await).map_err(|error| storage(&error))?;
        }
        Ok(())
    }

    fn expected(&self, number: u64) -> Expected {
        Expected {
            cluster: self.shared.identity.cluster,
            session: self.session,
            number,
            group_before: 0,
            next_first_group: None,
        }
    }

    /// The first group of the segment after `number`, if that one was begun.
    async fn first_group_after(&self, number: u64) -> Result<Option<u64>, StartError> {
        let Some(next) = self.numbers.get(self.at + 1).copied() else { return Ok(None) };
        debug_assert_eq!(next, number + 1, "checked when the log was opened");
        let path = segment::path(self.session, next);
        let file = self.shared.env.disk.open(&path, OpenMode::Read).await.map_err(|error| storage(&error))?;
        // A header and a little more, to tell a torn header from a damaged one.
        let head = file.read_at(0, SEGMENT_HEADER_BYTES * 2).await.map_err(|error| storage(&error))?;
        let header = read(&path, scan::read_header(&head, &self.expected(next)))?;
        Ok(header.map(|header| header.first_group))
    }
}

fn read<T>(path: &str, result: Result<T, Unreadable>) -> Result<T, StartError> {
    result.map_err(|unreadable| match unreadable {
        Unreadable::Corrupt { position, detail } => {
            StartError::Corrupt { file: path.to_owned(), position, detail }
        }
        Unreadable::Newer { detail } => StartError::Newer { file: path.to_owned(), detail },
        Unreadable::Foreign { detail } => StartError::Foreign { file: path.to_owned(), detail },
    })
}

/// An error of the disk as a reason not to start.
pub(crate) fn storage(error: &DiskError) -> StartError {
    if error.is_full() {
        StartError::DiskFull { during: format!("recovering {}", error.path()) }
    } else {
        StartError::Storage(error.to_string())
    }
}
