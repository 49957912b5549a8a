//! `kelda check`: what it says of sound and of damaged data directories, and that it never changes one.

mod damage;
mod refused;
mod repair;
mod sound;

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::SystemTime;

use serde_json::Value;

use crate::node::KELDA;

/// A data directory that no node uses.
struct Data {
    temporary: tempfile::TempDir,
}

/// What is left of a check.
struct Checked {
    code: i32,
    report: Value,
    stderr: String,
}

impl Data {
    /// The directory that 0.1 left: stopped once, then killed.
    fn golden() -> Data {
        let data = Data { temporary: tempfile::tempdir().unwrap() };
        let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/data-0.1/data.tar.gz");
        let unpacked =
            Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(data.temporary.path()).status();
        assert!(unpacked.unwrap().success());
        data
    }

    /// A new directory, for a node to make.
    fn new() -> Data {
        Data { temporary: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.temporary.path().join("data")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.file(name)).unwrap()
    }

    /// Replaces bytes of a file.
    fn write(&self, name: &str, at: u64, bytes: &[u8]) {
        let file = std::fs::OpenOptions::new().write(true).open(self.file(name)).unwrap();
        file.write_all_at(bytes, at).unwrap();
    }

    /// Flips one bit of a file.
    fn flip(&self, name: &str, at: u64) {
        let file = std::fs::OpenOptions::new().read(true).write(true).open(self.file(name)).unwrap();
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ 4], at).unwrap();
    }

    fn run(&self, args: &[&str]) -> Output {
        Command::new(KELDA).arg("check").arg("--data-dir").arg(self.path()).args(args).output().unwrap()
    }

    /// Checks, and makes sure that nothing was changed.
    fn check(&self) -> Checked {
        let before = tree(&self.path());
        let output = self.run(&["--json"]);
        assert!(tree(&self.path()) == before, "a check changes nothing");
        let stderr = String::from_utf8(output.stderr).unwrap();
        let report = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
        Checked { code: output.status.code().unwrap(), report, stderr }
    }

    /// Checks, and gives the one thing that has to be found.
    fn finding(&self) -> Value {
        let checked = self.check();
        assert_eq!(checked.code, 6, "{} {}", checked.stderr, checked.report["findings"]);
        assert_eq!(checked.report["result"], "damaged");
        let findings = checked.report["findings"].as_array().unwrap();
        assert_eq!(findings.len(), 1, "{findings:#?}");
        findings[0].clone()
    }

    /// Checks, and expects nothing to be wrong.
    fn clean(&self) -> Value {
        let Checked { code, report, stderr } = self.check();
        assert_eq!(code, 0, "{stderr} {}", report["findings"]);
        assert_eq!((&report["result"], &report["findings_total"]), (&"clean".into(), &0.into()));
        report
    }
}

/// What makes two listings of a directory differ when anything was changed.
fn tree(dir: &Path) -> Vec<(PathBuf, u64, SystemTime)> {
    let mut found = Vec::new();
    let Ok(entries) = std::fs::read_dir(dir) else { return found };
    for entry in entries {
        let entry = entry.unwrap();
        let metadata = entry.metadata().unwrap();
        found.push((entry.path(), metadata.len(), metadata.modified().unwrap()));
        if metadata.is_dir() {
            found.extend(tree(&entry.path()));
        }
    }
    found.sort();
    found
}

/// The records of a stream that a finding names.
fn records(finding: &Value, stream: &str) -> (String, Option<String>) {
    let named: Vec<&Value> =
        finding["records"].as_array().unwrap().iter().filter(|records| records["stream"] == stream).collect();
    assert_eq!(named.len(), 1, "{stream} in {finding:#}");
    (named[0]["from"].as_str().unwrap().to_owned(), named[0]["to"].as_str().map(str::to_owned))
}

/// The objects that streams are read from.
fn objects(report: &Value) -> Vec<String> {
    let all = report["objects"].as_array().unwrap().iter();
    let used = all.filter(|object| object["use"] == "referenced");
    used.map(|object| object["file"].as_str().unwrap().to_owned()).collect()
}

fn find(bytes: &[u8], text: &[u8]) -> Vec<usize> {
    let windows = bytes.windows(text.len()).enumerate();
    windows.filter(|(_, window)| *window == text).map(|(at, _)| at).collect()
}
