//! What keeps the tree readable: owns the list of its files, guarantees that every rule sees each of them, never
//! changes one.

mod docs;
mod edges;
mod http;
mod layout;
mod lengths;
mod ratchets;
mod rust;
mod tables;
mod words;

use std::fs;
use std::path::{Path, PathBuf};

/// Folders that hold what is built, installed or stored, not what is written.
const NOT_OURS: [&str; 5] = ["target", "node_modules", "kelda-data", "corpus", "golden"];

/// Generated text, whose words and lengths are not ours; `.git` is a file in a linked work tree.
const GENERATED: [&str; 3] = ["Cargo.lock", "package-lock.json", ".git"];

/// One text file of the tree.
struct Source {
    /// Its path from the root, with slashes.
    path: String,
    text: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// All text files but generated ones, in the order of their paths.
fn sources() -> Vec<Source> {
    let mut found = Vec::new();
    collect(&root(), "", &mut found);
    assert!(found.len() > 50, "only {} files found", found.len());
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn rust_sources() -> Vec<Source> {
    sources().into_iter().filter(|source| source.path.ends_with(".rs")).collect()
}

fn collect(folder: &Path, prefix: &str, found: &mut Vec<Source>) {
    for item in fs::read_dir(folder).unwrap() {
        let item = item.unwrap();
        let name = item.file_name().into_string().unwrap();
        let path = format!("{prefix}{name}");
        if item.file_type().unwrap().is_dir() {
            let hidden = name.starts_with('.') && name != ".ci";
            if !hidden && !NOT_OURS.contains(&name.as_str()) && path != "docs/book" {
                collect(&item.path(), &format!("{path}/"), found);
            }
        } else if !GENERATED.contains(&name.as_str())
            && let Ok(text) = fs::read_to_string(item.path())
        {
            found.push(Source { path, text });
        }
    }
}

/// Fails with all findings at once.
fn none(findings: &[String], rule: &str) {
    assert!(findings.is_empty(), "{rule}:\n  {}", findings.join("\n  "));
}
