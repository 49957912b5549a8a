//! The segments of the log of an ended session, in order: owns what has to be there (P6, P11), for recovery and for the
//! check of a stopped node alike, so that both judge the same. Guarantees that one segment at a time is in memory. Never
//! decides what is replayed, never changes anything.

use std::sync::Arc;

use kelda_env::{Disk, OpenMode};
use kelda_format::wal::SEGMENT_HEADER_BYTES;
use kelda_format::{ClusterId, SessionId};
use kelda_meta::State;

use super::directory;
use super::run::storage;
use crate::error::StartError;
use crate::wal::local::scan::{self, Expected, Scanned, Unreadable};
use crate::wal::local::segment;

/// A segment that was read and judged.
pub(crate) struct Found {
    pub(crate) number: u64,
    pub(crate) path: String,
    pub(crate) scanned: Scanned,
    /// Whether no later segment was begun.
    pub(crate) last: bool,
}

/// The segments of one WAL from its start on, read one at a time.
pub(crate) struct Log<'a> {
    disk: &'a Arc<dyn Disk>,
    cluster: ClusterId,
    session: SessionId,
    /// The numbers from the WAL start on.
    numbers: Vec<u64>,
    at: usize,
    /// The last group of the segments before; none before the first segment, whose header says where it is.
    group_before: Option<u64>,
    /// Whether the session holds streams: otherwise nothing in its log counts.
    pub(crate) holds_streams: bool,
    /// Whether the segment at the WAL start has a header for certain.
    begun: bool,
}

impl<'a> Log<'a> {
    /// The log of `session` from `wal_start` on, as `view` knows both. Refuses one of which a segment is missing.
    pub(crate) async fn open(
        disk: &'a Arc<dyn Disk>,
        view: &State,
        session: SessionId,
        wal_start: u64,
    ) -> Result<Log<'a>, StartError> {
        let mark = segment::unbegun_path(session);
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
        let holds_streams = view.held_by(session).next().is_some();
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
        Ok(Log {
            disk,
            cluster: view.cluster(),
            session,
            numbers,
            at: 0,
            group_before: None,
            holds_streams,
            begun,
        })
    }

    /// The bytes of each segment, in order.
    pub(crate) async fn lens(&self) -> Result<Vec<u64>, StartError> {
        let mut lens = Vec::with_capacity(self.numbers.len());
        for number in &self.numbers {
            let path = segment::path(self.session, *number);
            lens.push(self.disk.len(&path).await.map_err(|error| storage(&error))?);
        }
        Ok(lens)
    }

    /// Reads and judges the next segment.
    pub(crate) async fn next(&mut self) -> Result<Option<Found>, StartError> {
        let Some(number) = self.numbers.get(self.at).copied() else { return Ok(None) };
        let path = segment::path(self.session, number);
        let bytes = self.disk.read(&path).await.map_err(|error| storage(&error))?;
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
        Ok(Some(Found { number, path, scanned, last }))
    }

    fn expected(&self, number: u64) -> Expected {
        Expected {
            cluster: self.cluster,
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
        let file = self.disk.open(&path, OpenMode::Read).await.map_err(|error| storage(&error))?;
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
