//! The check, from the lock to the report.
//!
//! Owns the order: lock, metadata, write-ahead logs, objects. Guarantees that the lock is held until the report is made.

use std::path::Path;
use std::sync::Arc;

use kelda_engine::check::{Fault, Finding, Findings, Logs, check_logs, check_objects};
use kelda_env::{Disk, DiskError, Env, LocalStore, LockGuard, Store, StoreError};
use kelda_format::ClusterId;
use kelda_format::keys::{MARKER_KEY, decode_marker};
use kelda_meta::State;

use super::report::Report;
use super::{CheckError, metadata, streams};
use crate::node::{LOCK_FILE, META_FILE, OBJECTS_DIR, WAL_DIR};

/// Checks the data directory `data_dir`.
///
/// # Errors
/// [`CheckError`] when it does not come to a result; damage is in the report.
pub async fn check(data_dir: &Path) -> Result<Report, CheckError> {
    let name = data_dir.display().to_string();
    let env = Env::real_read_only(data_dir).map_err(|error| match error.is_not_found() {
        true => CheckError::NotFound { data_dir: name.clone() },
        false => CheckError::disk(&name, &error),
    })?;
    let _lock = lock(&*env.disk, &name).await?;
    let has_metadata = look(&*env.disk, &name).await?;
    let mut findings = Findings::default();
    let mut report = Report { data_dir: name.clone(), ..Report::default() };
    let mut state = None;
    if has_metadata {
        let read = metadata::read(&env, &name, &mut findings).await?;
        state = read.state;
        report.metadata = Some(read.report);
    }
    lost_metadata(&*env.disk, &report, &mut findings)
        .await
        .map_err(|error| CheckError::disk(&name, &error))?;
    let mut logs = Logs::default();
    if let Some(state) = &state {
        describe(&mut report, state);
        let read = check_logs(&env.disk, state, &mut findings).await;
        logs = read.map_err(|error| CheckError::disk(&name, &error))?;
        report.streams = streams::streams(state, &logs.tails);
    }
    report.logs = logs.sessions;
    report.strange = logs.strange;
    let mut in_objects = Findings::default();
    if env.disk.exists(OBJECTS_DIR).await.map_err(|error| CheckError::disk(&name, &error))? {
        let path = data_dir.join(OBJECTS_DIR);
        let store = LocalStore::open(&path).map_err(|error| CheckError::disk(&name, &error))?;
        let store: Arc<dyn Store> = Arc::new(store);
        objects(&store, state.as_deref(), &mut report, &mut in_objects)
            .await
            .map_err(|error| CheckError::store(&name, &error))?;
    } else if let Some(state) = state.as_deref().filter(|state| state.objects().next().is_some()) {
        let detail = format!("{} objects were in it", state.objects().count());
        findings.push(finding(Fault::Missing, OBJECTS_DIR, detail));
    }
    report.findings_total = findings.total() + in_objects.total();
    report.findings = findings.list().to_vec();
    report.findings.extend(in_objects.list().iter().cloned().map(|finding| {
        let file = format!("{OBJECTS_DIR}/{}", finding.file);
        Finding { file, ..finding }
    }));
    Ok(report)
}

/// Takes the lock of the directory. One that was never locked has no node.
async fn lock(disk: &dyn Disk, data_dir: &str) -> Result<Option<LockGuard>, CheckError> {
    match disk.lock(LOCK_FILE).await {
        Ok(lock) => Ok(Some(lock)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(CheckError::disk(data_dir, &error)),
    }
}

/// Whether the metadata are there; an error when this is no data directory.
async fn look(disk: &dyn Disk, data_dir: &str) -> Result<bool, CheckError> {
    let unreadable = |error: DiskError| CheckError::disk(data_dir, &error);
    if disk.exists(META_FILE).await.map_err(unreadable)? {
        return Ok(disk.len(META_FILE).await.map_err(unreadable)? > 0);
    }
    let names = disk.read_dir("").await.map_err(unreadable)?;
    let data_dir = data_dir.to_owned();
    match names.iter().all(|name| name == LOCK_FILE) {
        true => Err(CheckError::Empty { data_dir }),
        false if names.iter().any(|name| name == WAL_DIR || name == OBJECTS_DIR) => Ok(false),
        false => Err(CheckError::NotADataDir { data_dir }),
    }
}

/// Metadata that are gone beside what they told of.
async fn lost_metadata(disk: &dyn Disk, report: &Report, findings: &mut Findings) -> Result<(), DiskError> {
    let state = match &report.metadata {
        None => "is missing or empty",
        // An entry that does not decode is a finding of its own.
        Some(metadata) if metadata.last == 0 && findings.total() == 0 => "has no entry",
        Some(_) => return Ok(()),
    };
    for dir in [WAL_DIR, OBJECTS_DIR] {
        if disk.exists(dir).await? && !disk.read_dir(dir).await?.is_empty() {
            let detail = format!("the metadata {state}, but {dir} holds data");
            findings.push(finding(Fault::Missing, META_FILE, detail));
            return Ok(());
        }
    }
    Ok(())
}

fn describe(report: &mut Report, state: &State) {
    report.metadata_read = true;
    report.cluster = Some(state.cluster());
    report.feature_level = Some(state.feature_level());
    report.nodes = state.nodes().map(|row| (row.node, row.features)).collect();
}

async fn objects(
    store: &Arc<dyn Store>,
    state: Option<&State>,
    report: &mut Report,
    findings: &mut Findings,
) -> Result<(), StoreError> {
    let expected = state.map(State::cluster);
    let marked = match store.get(MARKER_KEY).await {
        Ok(bytes) => marked(&bytes, expected, findings),
        Err(error) if error.is_not_found() => {
            if state.is_some_and(|state| state.objects().next().is_some()) {
                let detail = "the object that says whose the store is does not exist".to_owned();
                findings.push(finding(Fault::Missing, MARKER_KEY, detail));
            }
            None
        }
        Err(error) => {
            findings.push(finding(Fault::Unreadable, MARKER_KEY, error.to_string()));
            None
        }
    };
    report.cluster = report.cluster.or(marked);
    let Some(cluster) = report.cluster else { return Ok(()) };
    let found = check_objects(store, cluster, state, findings).await?;
    report.objects = found.objects;
    report.strange.extend(found.strange.into_iter().map(|key| format!("{OBJECTS_DIR}/{key}")));
    Ok(())
}

/// The cluster that the marker names, compared with the one of the metadata.
fn marked(bytes: &[u8], expected: Option<ClusterId>, findings: &mut Findings) -> Option<ClusterId> {
    match decode_marker(bytes) {
        Ok(found) => {
            if let Some(expected) = expected.filter(|expected| *expected != found) {
                let detail = format!(
                    "the object store belongs to cluster {found}, the metadata to cluster {expected}"
                );
                findings.push(finding(Fault::Foreign, MARKER_KEY, detail));
            }
            Some(found)
        }
        Err(error) => {
            let fault = if error.newer.is_some() { Fault::Newer } else { Fault::Damaged };
            let position = Some(0);
            findings.push(Finding { position, ..finding(fault, MARKER_KEY, error.to_string()) });
            None
        }
    }
}

fn finding(fault: Fault, file: &str, detail: String) -> Finding {
    Finding { fault, file: file.to_owned(), position: None, detail, affected: Vec::new() }
}
