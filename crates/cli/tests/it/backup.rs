//! `kelda backup`, `restore` and `migrate`: everything that a node knows of its streams comes back, and what is in the way is
//! refused before anything is changed.

mod interrupted;
mod moved;
mod refused;
mod remote;
mod running;

use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

use crate::golden::{check_all, check_producers, check_streams, first_golden};
use crate::node::{Node, kelda, stderr};

/// A directory with the data directories and stores of one test.
struct Place {
    temporary: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        Place { temporary: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.temporary.path().join(name)
    }

    /// A directory as a store.
    fn url(&self, name: &str) -> String {
        format!("file://{}", self.path(name).display())
    }

    /// Runs a command that has to succeed, and gives its JSON.
    fn json(&self, args: &[&str]) -> Value {
        let output = self.run(args);
        assert!(output.status.success(), "kelda {args:?}: {}", stderr(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn run(&self, args: &[&str]) -> Output {
        kelda(args).arg("--json").current_dir(self.temporary.path()).output().unwrap()
    }

    /// Runs a command that has to fail, and gives its exit code and what it said.
    fn fails(&self, args: &[&str]) -> (i32, String) {
        let output = self.run(args);
        let said: Value = serde_json::from_str(stderr(&output).lines().last().unwrap_or_default()).unwrap();
        (output.status.code().unwrap(), said["detail"].as_str().unwrap().to_owned())
    }

    /// Backs up the data directory `data` of a stopped node to `backups`.
    fn back_up(&self, data: &Path, backups: &str) -> Value {
        self.json(&["backup", "--data-dir", data.to_str().unwrap(), "--to", &self.url(backups)])
    }

    /// Restores the newest of `backups` to the data directory `to`.
    fn restore(&self, backups: &str, to: &str) -> Value {
        self.json(&["restore", "--from", &self.url(backups), "--data-dir", self.path(to).to_str().unwrap()])
    }
}

/// Everything that the first release said of its streams is so on this node, producers go on, and a check is content.
async fn check_everything(mut node: Node, data: &Path, store: &str) {
    check_all(&node, &first_golden()).await;
    check_producers(&mut node).await;
    node.kill();
    node.restart();
    check_streams(&node).await;
    assert!(node.stop().success());
    clean(data, store);
}

/// Nothing is damaged or missing, and nothing is orphaned.
fn clean(data: &Path, store: &str) {
    let args = ["check", "--json", "--data-dir", data.to_str().unwrap(), "--store", store];
    let output = kelda(&args).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", report["findings"]);
    assert_eq!((&report["totals"]["orphans"], &report["leftovers"]), (&0.into(), &serde_json::json!([])));
}

/// The files below a directory, with their bytes; not the lock, which says who held it last.
fn files(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let Ok(entries) = std::fs::read_dir(dir) else { return found };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if !path.ends_with("lock") {
            found.push((path.clone(), std::fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}
