//! The metadata of a stopped node.
//!
//! Owns what is said of the database and of the log in it. Guarantees that the state is only given where a start would arrive
//! at it. Never reads the original database, only a copy.

use std::sync::Arc;

use kelda_engine::check::{Fault, Finding, Findings};
use kelda_env::Env;
use kelda_meta::{FIRST_FEATURE_LEVEL, State};
use kelda_metalog::{LogError, SqliteLog};

use super::CheckError;
use super::copy::{Copy, copy};
use super::report::MetadataReport;
use crate::node::{META_FILE, META_WAL_FILE};

/// What was read of the metadata.
pub(super) struct Metadata {
    pub(super) report: MetadataReport,
    /// The state after the last entry; none when a start could not arrive at it, or nothing was ever written.
    pub(super) state: Option<Arc<State>>,
}

/// The state that a start would arrive at; none when nothing was ever written, or when `findings` say why not.
pub(crate) async fn state(
    env: &Env,
    data_dir: &str,
    findings: &mut Findings,
) -> Result<Option<Arc<State>>, CheckError> {
    Ok(read(env, data_dir, findings).await?.state)
}

/// Reads the metadata of the data directory of `env`.
pub(super) async fn read(env: &Env, data_dir: &str, findings: &mut Findings) -> Result<Metadata, CheckError> {
    let copy = copy(&*env.disk, data_dir).await?;
    let mut report = MetadataReport { layout: SqliteLog::layout(), ..MetadataReport::default() };
    let mut faults = Vec::new();
    if let Some(position) = copy.wal_damaged_at {
        let detail =
            "the frame is not what was written, and commits follow it: a start would lose them in silence";
        faults.push(fault(Fault::Damaged, META_WAL_FILE, Some(position), detail.to_owned()));
    }
    let state = match open(env, &copy).await {
        Ok(log) => {
            match log.faults().await {
                Ok(found) => faults
                    .extend(found.into_iter().map(|detail| fault(Fault::Damaged, META_FILE, None, detail))),
                Err(error) => faults.push(of_log(&error, &copy)),
            }
            let found = kelda_metalog::check(&log).await;
            for problem in found.problems {
                let kind = if problem.newer { Fault::Newer } else { Fault::Damaged };
                faults.push(fault(kind, META_FILE, None, problem.detail));
            }
            (report.first, report.last) = (found.first, found.last);
            (report.entry_bytes, report.snapshot) = (found.entry_bytes, found.snapshot);
            found.state
        }
        Err(error) => {
            faults.push(of_log(&error, &copy));
            None
        }
    };
    if let Some(level) = state.as_ref().map(|state| state.feature_level())
        && level > FIRST_FEATURE_LEVEL
    {
        let detail =
            format!("the cluster is at feature level {level}, this version knows {FIRST_FEATURE_LEVEL}");
        faults.push(fault(Fault::Newer, META_FILE, None, detail));
    }
    faults.into_iter().for_each(|fault| findings.push(fault));
    Ok(Metadata { report, state })
}

async fn open(env: &Env, copy: &Copy) -> Result<SqliteLog, LogError> {
    SqliteLog::open(env, copy.path()).await
}

fn of_log(error: &LogError, copy: &Copy) -> Finding {
    let kind = match error {
        LogError::Newer { .. } => Fault::Newer,
        LogError::Unavailable(_) => Fault::Unreadable,
        LogError::Damaged(_) | LogError::Truncated { .. } => Fault::Damaged,
    };
    // Messages name the file that was opened, which is the copy.
    let detail = error.to_string().replace(&format!("{}: ", copy.path().display()), "");
    fault(kind, META_FILE, None, detail)
}

fn fault(fault: Fault, file: &str, position: Option<u64>, detail: String) -> Finding {
    Finding { fault, file: file.to_owned(), position, detail, affected: Vec::new() }
}
