//! The check, from the lock to the report.
//!
//! Owns the order: lock, metadata, write-ahead logs, objects. Guarantees that the lock is held until what was opened is
//! dropped, so that what is repaired is what was found.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kelda_engine::check::{Fault, Finding, Findings, Logs, Tail, check_logs, check_objects};
use kelda_env::{Disk, DiskError, Env, LockGuard, Store, StoreError};
use kelda_format::keys::{MARKER_KEY, decode_marker};
use kelda_format::{ClusterId, StreamId};
use kelda_meta::State;

use super::report::{Leftover, Report};
use super::{CheckError, leftovers, metadata, streams};
use crate::backup::{self, Place};
use crate::node::{LOCK_FILE, META_FILE, OBJECTS_DIR, WAL_DIR};

/// A locked data directory with the object store of its node.
pub struct Checker {
    env: Env,
    pub(super) data_dir: PathBuf,
    name: String,
    /// The store; none when it is in the directory and is not there.
    pub(super) store: Option<Place>,
    /// What the keys of the store begin with in the report.
    pub(super) prefix: String,
    /// None when the directory was never locked.
    pub(super) lock: Option<LockGuard>,
}

/// Checks the data directory `data_dir`, whose objects are in `store`, or in the directory when none is named.
///
/// # Errors
/// [`CheckError`] when it does not come to a result; damage is in the report.
pub async fn check(data_dir: &Path, store: Option<&str>) -> Result<Report, CheckError> {
    Checker::open(data_dir, store).await?.check().await
}

impl Checker {
    /// Locks `data_dir`, of which nothing can be changed, and opens the store.
    ///
    /// # Errors
    /// [`CheckError`].
    pub async fn open(data_dir: &Path, store: Option<&str>) -> Result<Checker, CheckError> {
        let name = data_dir.display().to_string();
        let env = Env::real_read_only(data_dir).map_err(|error| match error.is_not_found() {
            true => CheckError::NotFound { data_dir: name.clone() },
            false => CheckError::disk(&name, &error),
        })?;
        let lock = lock(&*env.disk, &name).await?;
        let in_directory = matches!(store, None | Some("local"));
        let is_there = env.disk.exists(OBJECTS_DIR).await.map_err(|error| CheckError::disk(&name, &error))?;
        let store = if in_directory && !is_there {
            None
        } else {
            let opened = Place::of_node(&env, data_dir, store).await;
            Some(opened.map_err(|error| CheckError::BadStore { detail: error.to_string() })?)
        };
        let prefix = match &store {
            Some(place) if !in_directory => place.name.clone(),
            _ => OBJECTS_DIR.to_owned(),
        };
        Ok(Checker { env, data_dir: data_dir.to_owned(), name, store, prefix, lock })
    }

    /// Looks at everything.
    ///
    /// # Errors
    /// [`CheckError`] when it does not come to a result; damage is in the report.
    pub async fn check(&self) -> Result<Report, CheckError> {
        let (env, name) = (&self.env, &self.name);
        let disk = |error: DiskError| CheckError::disk(name, &error);
        let unfinished = backup::unfinished(&*env.disk).await.map_err(disk)?;
        let has_metadata = look(&*env.disk, name, unfinished.is_some()).await?;
        let mut findings = Findings::default();
        let mut report = Report {
            data_dir: name.clone(),
            store: self.store.as_ref().map(|place| place.name.clone()),
            objects_in: self.prefix.clone(),
            ..Report::default()
        };
        if let Some(detail) = &unfinished {
            findings.push(finding(Fault::Missing, META_FILE, detail.clone()));
        }
        let mut state = None;
        if has_metadata {
            let read = metadata::read(env, name, &mut findings).await?;
            state = read.state;
            report.metadata = Some(read.report);
        }
        if unfinished.is_none() {
            lost_metadata(&*env.disk, &report, &mut findings).await.map_err(disk)?;
        }
        let mut logs = Logs::default();
        if let Some(state) = &state {
            describe(&mut report, state);
            logs = check_logs(&env.disk, state, &mut findings).await.map_err(disk)?;
        }
        report.logs = logs.sessions;
        report.strange = logs.strange;
        report.leftovers = leftovers::in_directory(&*env.disk, unfinished.is_some()).await.map_err(disk)?;
        let mut in_objects = Findings::default();
        match &self.store {
            Some(place) => {
                let tails = &mut logs.tails;
                self.check_store(place, state.as_deref(), &mut report, tails, &mut in_objects).await?;
            }
            None => {
                let count = state.as_deref().map_or(0, |state| state.objects().count());
                if count > 0 {
                    findings.push(finding(
                        Fault::Missing,
                        OBJECTS_DIR,
                        format!("{count} objects were in it"),
                    ));
                }
            }
        }
        if let Some(state) = &state {
            report.streams = streams::streams(state, &logs.tails);
        }
        report.findings_total = findings.total() + in_objects.total();
        report.findings = findings.list().to_vec();
        report.findings.extend(in_objects.list().iter().cloned().map(|finding| {
            let file = format!("{}/{}", self.prefix, finding.file);
            Finding { file, ..finding }
        }));
        report.state = state;
        Ok(report)
    }

    async fn check_store(
        &self,
        place: &Place,
        state: Option<&State>,
        report: &mut Report,
        tails: &mut BTreeMap<StreamId, Tail>,
        findings: &mut Findings,
    ) -> Result<(), CheckError> {
        let failed = |error: StoreError| match self.prefix.as_str() {
            OBJECTS_DIR => CheckError::store(&self.name, &error),
            _ => CheckError::store(&place.name, &error),
        };
        for file in place.staged().await.map_err(failed)? {
            let (file, what) = (format!("{}/{file}", self.prefix), "a write that was interrupted");
            report.leftovers.push(Leftover { file, what });
        }
        objects(&place.store, &self.prefix, state, report, tails, findings).await.map_err(failed)
    }
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
async fn look(disk: &dyn Disk, data_dir: &str, unfinished: bool) -> Result<bool, CheckError> {
    let unreadable = |error: DiskError| CheckError::disk(data_dir, &error);
    if disk.exists(META_FILE).await.map_err(unreadable)? {
        return Ok(disk.len(META_FILE).await.map_err(unreadable)? > 0);
    }
    let names = disk.read_dir("").await.map_err(unreadable)?;
    let data_dir = data_dir.to_owned();
    if unfinished {
        return Ok(false);
    }
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
    prefix: &str,
    state: Option<&State>,
    report: &mut Report,
    tails: &mut BTreeMap<StreamId, Tail>,
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
    tails.extend(found.tails);
    report.slots = found.slots;
    report.strange.extend(found.strange.into_iter().map(|key| format!("{prefix}/{key}")));
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
