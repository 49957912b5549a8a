//! What backup, restore and migrate have in common: owns how a copy's progress is shown and how its end is said. Guarantees
//! that an object which is missing or damaged makes a command fail, however much was copied. Never copies.

use std::future::Future;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use indicatif::HumanBytes;
use kelda_env::{Clock as _, RealClock};
use kelda_server::backup::{BackupError, Copied, Progress as Counters, Stage, Status};
use serde_json::{Value, json};

use crate::exit::Failure;
use crate::progress::Progress;
use crate::ui::Ui;

/// How often a copy is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How often a line says how far it is, where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Shows how far a copy is: a bar on a terminal, else a line now and then.
pub struct Shown {
    ui: Ui,
    clock: RealClock,
    bar: Option<Progress>,
    done: u64,
    stage: Option<Stage>,
    said_at: Duration,
}

impl Shown {
    pub fn new(ui: Ui) -> Shown {
        let clock = RealClock::new();
        let said_at = clock.monotonic();
        Shown { ui, clock, bar: None, done: 0, stage: None, said_at }
    }

    /// It is so far now.
    pub fn status(&mut self, status: &Status) {
        if self.ui.shows_progress() {
            if self.bar.is_none() && status.bytes > 0 {
                self.bar = Some(Progress::of_bytes(Some(status.bytes)));
            }
            if let Some(bar) = &self.bar {
                bar.bytes(status.done_bytes - self.done);
            }
            self.done = status.done_bytes;
            return;
        }
        let now = self.clock.monotonic();
        let another = self.stage != Some(status.stage);
        if !another && now.saturating_sub(self.said_at) < LINE_EVERY {
            return;
        }
        (self.stage, self.said_at) = (Some(status.stage), now);
        let word = status.stage.word();
        match status.objects {
            0 => self.ui.done(word),
            objects => self.ui.done(format_args!(
                "{word}: {} of {objects} objects, {} of {}",
                status.done_objects,
                HumanBytes(status.done_bytes),
                HumanBytes(status.bytes)
            )),
        }
    }
}

/// Runs a copy to its end and shows how far it is.
pub async fn watched<T>(
    ui: Ui,
    counters: &Counters,
    work: impl Future<Output = Result<T, BackupError>>,
) -> Result<T, Failure> {
    let mut shown = Shown::new(ui);
    let clock = RealClock::new();
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            biased;
            done = &mut work => return done.map_err(|error| failure(&error)),
            () = clock.sleep(LOOK_EVERY) => shown.status(&counters.status()),
        }
    }
}

/// What a copy that failed comes to.
pub fn failure(error: &BackupError) -> Failure {
    let said = error.to_string();
    match error {
        BackupError::BadUrl { .. } => Failure::usage(said),
        BackupError::Damaged(_) => Failure::damaged(said),
        _ => Failure::local(said),
    }
}

/// Fails when something was missing or damaged; everything else was copied.
pub fn verdict(missing: usize, damaged: usize, place: &str) -> Result<(), Failure> {
    if missing + damaged == 0 {
        return Ok(());
    }
    Err(Failure::damaged(format!(
        "all else was copied, but in {place} {missing} objects are missing and {damaged} damaged, which are as they were: \
         kelda check names their records"
    )))
}

/// What was copied, as JSON.
pub fn copied(copied: &Copied) -> Value {
    let ids =
        |ids: &[kelda_server::backup::ObjectId]| ids.iter().map(ToString::to_string).collect::<Vec<_>>();
    json!({
        "copied_objects": copied.objects,
        "copied_bytes": copied.bytes,
        "present_objects": copied.present,
        "missing": ids(&copied.missing),
        "damaged": ids(&copied.damaged),
    })
}

/// A URL with a path that does not depend on where the command runs, since a node runs elsewhere.
pub fn absolute(url: &str) -> Result<String, Failure> {
    let Some(path) = url.strip_prefix("file://").filter(|path| !path.is_empty() && !path.starts_with('/'))
    else {
        return Ok(url.to_owned());
    };
    let here = std::env::current_dir();
    let here = here.map_err(|error| Failure::local(format!("the current directory: {error}")))?;
    let whole = here.join(path);
    let plain: PathBuf = whole.components().filter(|part| *part != Component::CurDir).collect();
    Ok(format!("file://{}", Path::new(&plain).display()))
}
