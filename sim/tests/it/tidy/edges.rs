//! Who may use whom (section 12 of the design, as `ARCHITECTURE.md` gives it).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::{none, root, rust, rust_sources};

/// What each crate may use of ours; arrows point down only.
const EDGES: &[(&str, &[&str])] = &[
    ("kelda-format", &[]),
    ("kelda-meta", &["kelda-format"]),
    ("kelda-env", &[]),
    ("kelda-store", &["kelda-env"]),
    ("kelda-metalog", &["kelda-format", "kelda-meta", "kelda-env"]),
    ("kelda-engine", &["kelda-format", "kelda-meta", "kelda-env"]),
    ("kelda-service", &["kelda-format", "kelda-meta", "kelda-env", "kelda-engine"]),
    ("kelda-client", &["kelda-format"]),
    (
        "kelda-server",
        &[
            "kelda-format",
            "kelda-meta",
            "kelda-env",
            "kelda-store",
            "kelda-metalog",
            "kelda-engine",
            "kelda-service",
        ],
    ),
    ("kelda", &["kelda-env", "kelda-store", "kelda-server", "kelda-client"]),
];

/// Crates that hold no `async fn`, and what they may not depend on.
const PURE: [&str; 2] = ["crates/format", "crates/meta"];
const IMPURE: [&str; 6] = ["tokio", "async-trait", "rand", "rusqlite", "object_store", "tracing"];

/// Words that a pure crate does not hold: clocks, chance, I/O, and maps whose order is chance.
const IMPURE_WORDS: [&str; 9] = [
    "async fn",
    "SystemTime",
    "Instant",
    "HashMap",
    "HashSet",
    "std::fs",
    "std::net",
    "std::thread",
    "std::env",
];

#[test]
fn crates_use_only_what_lies_below() {
    let allowed: BTreeMap<_, _> = EDGES.iter().copied().collect();
    let mut findings = Vec::new();
    let mut seen = BTreeSet::new();
    for folder in fs::read_dir(root().join("crates")).unwrap() {
        let manifest = manifest(&folder.unwrap().path().join("Cargo.toml"));
        let name = manifest["package"]["name"].as_str().unwrap().to_owned();
        match allowed.get(name.as_str()) {
            None => findings.push(format!("{name} is not in the list of crates")),
            Some(below) => findings.extend(
                dependencies(&manifest, &["dependencies", "build-dependencies"])
                    .into_iter()
                    .filter(|used| used.starts_with("kelda") && !below.contains(&used.as_str()))
                    .map(|used| format!("{name} uses {used}")),
            ),
        }
        seen.insert(name);
    }
    findings.extend(
        EDGES.iter().filter(|(name, _)| !seen.contains(*name)).map(|(name, _)| format!("{name} is gone")),
    );
    none(&findings, "a new edge between crates is a decision");
}

#[test]
fn the_pure_crates_are_pure() {
    let mut findings = Vec::new();
    for folder in PURE {
        let manifest = manifest(&root().join(folder).join("Cargo.toml"));
        let used = dependencies(&manifest, &["dependencies", "build-dependencies"]);
        findings
            .extend(IMPURE.iter().filter(|no| used.contains(**no)).map(|no| format!("{folder} uses {no}")));
    }
    let sources = rust_sources();
    for source in
        sources.iter().filter(|source| PURE.iter().any(|at| source.path.starts_with(&format!("{at}/src"))))
    {
        let code = rust::code_only(&source.text);
        findings.extend(
            IMPURE_WORDS
                .iter()
                .filter(|word| code.contains(**word))
                .map(|word| format!("{}: {word}", source.path)),
        );
    }
    none(&findings, "format and meta have no clock, no chance, no I/O, no async");
}

fn manifest(path: &std::path::Path) -> toml::Table {
    fs::read_to_string(path).unwrap().parse().unwrap()
}

fn dependencies(manifest: &toml::Table, kinds: &[&str]) -> BTreeSet<String> {
    let tables = kinds.iter().filter_map(|kind| manifest.get(*kind)?.as_table());
    tables.flat_map(|table| table.keys().cloned()).collect()
}
