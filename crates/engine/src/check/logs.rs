//! The write-ahead logs of a stopped node, read as the next start would read them: owns what is said of each segment, and
//! how far each stream reaches with what is not committed. Guarantees recovery's own judgement (`recovery::log`,
//! `recovery::plan`). Never writes; a log is not read past what recovery would refuse.

use std::collections::BTreeMap;
use std::sync::Arc;

use kelda_env::{Disk, DiskError};
use kelda_format::rows::{SessionRow, SessionState, WalKind};
use kelda_format::{Offset, SessionEpoch, SessionId, StreamId};
use kelda_meta::{SessionStatus, State};

use super::finding::{Affected, Fault, Finding, Findings};
use crate::error::StartError;
use crate::recovery::directory::names;
use crate::recovery::log::{Found, Log};
use crate::recovery::plan::{self, Ends};
use crate::upload::plan::SegmentSummary;
use crate::wal::local::segment::{self, Name, WAL_DIR};

/// What was read of all logs.
#[derive(Clone, Debug, Default)]
pub struct Logs {
    /// One of each session that has a log, or has to have one.
    pub sessions: Vec<LogReport>,
    /// The streams with something that is not committed yet.
    pub tails: BTreeMap<StreamId, Tail>,
    /// Files and directories that no log writes, which every start leaves alone.
    pub strange: Vec<String>,
}

/// The log of one session.
#[derive(Clone, Debug)]
pub struct LogReport {
    /// Whose it is.
    pub session: SessionId,
    /// How far the session is with its life; none when its row is gone because all of it is committed.
    pub state: Option<SessionState>,
    /// The first segment that is not committed.
    pub wal_start: u64,
    /// Its segments, by number.
    pub segments: Vec<SegmentReport>,
}

/// One segment.
#[derive(Clone, Debug)]
pub struct SegmentReport {
    /// Path below the data directory.
    pub file: String,
    /// Length of the file.
    pub bytes: u64,
    /// What is in it.
    pub state: SegmentState,
}

/// What is in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentState {
    /// Nothing that is needed: it is committed and goes at the next start.
    Committed,
    /// Nothing yet: it was prepared.
    Unused,
    /// Entries, which the next start replays.
    Entries {
        /// How many entries.
        entries: u64,
        /// How many groups, each written and synced at once.
        groups: u64,
        /// Entries of streams that are gone; they are not replayed.
        dropped: u64,
        /// The end that a crash tore, if it did. It was not acknowledged; no damage.
        torn: Option<Torn>,
    },
    /// Not known: it, or one before it, is damaged.
    NotRead,
}

/// What a crash left of a group that was being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Torn {
    /// Where it begins in the file.
    pub position: u64,
    /// How many bytes.
    pub bytes: u64,
}

/// What of a stream is in a log and not committed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tail {
    /// The offset after the last record; none when the log holds no record of it.
    pub end: Option<Offset>,
    /// Records.
    pub records: u64,
    /// Bytes of their entries.
    pub bytes: u64,
    /// Whether it is sealed.
    pub sealed: bool,
}

/// Reads all logs under `disk` against `view`, the metadata.
///
/// # Errors
/// A directory cannot be read.
pub async fn check_logs(
    disk: &Arc<dyn Disk>,
    view: &State,
    findings: &mut Findings,
) -> Result<Logs, DiskError> {
    let mut logs = Logs::default();
    for name in names(disk, WAL_DIR).await? {
        let dir = format!("{WAL_DIR}/{name}");
        let Ok(epoch) = name.parse().map(SessionEpoch) else {
            logs.strange.push(dir);
            continue;
        };
        match ended(view, epoch) {
            Some(None) => {}
            Some(Some(session)) => logs.sessions.push(remains(disk, view, session).await?),
            None => {
                let detail = format!(
                    "the metadata knows no session of epoch {epoch}: it is older than this log, or of another data directory"
                );
                let (fault, affected) = (Fault::Foreign, Vec::new());
                findings.push(Finding { fault, file: dir.clone(), position: None, detail, affected });
            }
        }
        for name in names(disk, &dir).await? {
            if segment::parse_name(&name) == Name::Unknown {
                logs.strange.push(format!("{dir}/{name}"));
            }
        }
    }
    for row in view.sessions().filter(|row| is_unended(row.state) && row.wal == WalKind::Local) {
        let report = unended(disk, view, row, &mut logs.tails, findings).await?;
        logs.sessions.push(report);
    }
    logs.sessions.sort_by_key(|log| log.session);
    Ok(logs)
}

/// Adds what a part of a log says of streams, parts in their order.
pub(super) fn add_to(tails: &mut BTreeMap<StreamId, Tail>, summary: &SegmentSummary) {
    for (stream, of_stream) in summary.streams() {
        let tail = tails.entry(stream).or_default();
        if let (Some(base), Some(end)) = (of_stream.base, of_stream.end) {
            tail.records += end.since(base);
            tail.end = Some(end);
        }
        tail.bytes += of_stream.bytes;
        tail.sealed |= of_stream.sealed;
    }
}

fn is_unended(state: SessionState) -> bool {
    matches!(state, SessionState::Live | SessionState::Fenced)
}

/// Whose log the directory of an epoch is: none known, one that is to be recovered (`Some(None)`), or one that ended.
fn ended(view: &State, epoch: SessionEpoch) -> Option<Option<SessionId>> {
    let of_nodes = || view.nodes().map(|row| SessionId { node: row.node, epoch });
    let status = |session: &SessionId| view.session_status(*session);
    if of_nodes().any(|id| matches!(status(&id), SessionStatus::Known(state) if is_unended(state))) {
        return Some(None);
    }
    of_nodes().find(|id| status(id) != SessionStatus::Unknown).map(Some)
}

/// The log of a session of which all is committed.
async fn remains(disk: &Arc<dyn Disk>, view: &State, session: SessionId) -> Result<LogReport, DiskError> {
    let row = view.session(session);
    let segments = listed(disk, session, |_| SegmentState::Committed).await?;
    let (state, wal_start) = (row.map(|row| row.state), row.map_or(0, |row| row.wal_start));
    Ok(LogReport { session, state, wal_start, segments })
}

async fn listed(
    disk: &Arc<dyn Disk>,
    session: SessionId,
    state: impl Fn(u64) -> SegmentState,
) -> Result<Vec<SegmentReport>, DiskError> {
    let mut segments = Vec::new();
    for number in crate::recovery::directory::segments(disk, session).await? {
        let file = segment::path(session, number);
        let bytes = disk.len(&file).await?;
        segments.push(SegmentReport { file, bytes, state: state(number) });
    }
    Ok(segments)
}

/// The log of a session that the next start recovers.
async fn unended(
    disk: &Arc<dyn Disk>,
    view: &State,
    row: &SessionRow,
    tails: &mut BTreeMap<StreamId, Tail>,
    findings: &mut Findings,
) -> Result<LogReport, DiskError> {
    let session = row.id;
    let state = |number| if number < row.wal_start { SegmentState::Committed } else { SegmentState::NotRead };
    let mut segments = listed(disk, session, state).await?;
    let mut ends = Ends::new();
    let read = read(disk, view, row, &mut ends, |found, replay| {
        if let Some(report) = segments.iter_mut().find(|report| report.file == found.path) {
            report.state = summary(found, replay.dropped_entries);
        }
        add_to(tails, &replay.summary);
    });
    if let Err(error) = read.await {
        // What the streams of the session had past what was read is not known.
        let held = view.held_by(session).filter_map(|id| Some((id, view.stream(id)?.end)));
        let affected = held.map(|(stream, committed)| Affected {
            stream,
            from: ends.get(&stream).copied().unwrap_or(committed),
            to: None,
        });
        findings.push(finding(disk, session, error, affected.collect()).await?);
    }
    Ok(LogReport { session, state: Some(row.state), wal_start: row.wal_start, segments })
}

/// Reads a log to its end, or to what recovery refuses.
async fn read(
    disk: &Arc<dyn Disk>,
    view: &State,
    row: &SessionRow,
    ends: &mut Ends,
    mut with: impl FnMut(&Found, &plan::Replay),
) -> Result<(), StartError> {
    let mut log = Log::open(disk, view, row.id, row.wal_start).await?;
    while let Some(found) = log.next().await? {
        let replay = plan::replay_after(view, ends, row.id, &found.scanned.entries)
            .map_err(|missing| missing.refusal(&found.path))?;
        with(&found, &replay);
    }
    Ok(())
}

fn summary(found: &Found, dropped: u64) -> SegmentState {
    let scanned = &found.scanned;
    let Some(header) = scanned.header else { return SegmentState::Unused };
    let torn = (scanned.torn_bytes > 0).then_some(Torn { position: scanned.end, bytes: scanned.torn_bytes });
    let groups = (scanned.last_group + 1).saturating_sub(header.first_group);
    SegmentState::Entries { entries: scanned.entries.len() as u64, groups, dropped, torn }
}

/// What recovery refuses, as a finding.
async fn finding(
    disk: &Arc<dyn Disk>,
    session: SessionId,
    error: StartError,
    affected: Vec<Affected>,
) -> Result<Finding, DiskError> {
    let (fault, file, position, detail) = match error {
        StartError::Corrupt { file, position, detail } => match disk.exists(&file).await? {
            true => (Fault::Damaged, file, Some(position), detail),
            false => (Fault::Missing, file, None, detail),
        },
        StartError::Newer { file, detail } => (Fault::Newer, file, None, detail),
        StartError::Foreign { file, detail } => (Fault::Foreign, file, None, detail),
        other => (Fault::Unreadable, segment::dir(session), None, other.to_string()),
    };
    Ok(Finding { fault, file, position, detail, affected })
}
