//! File and function length, as ratchets.

use std::collections::BTreeMap;
use std::fmt::Debug;

use super::ratchets::{LONG_FILES, LONG_FUNCTIONS, MAX_FILE_LINES, MAX_FUNCTION_LINES};
use super::{none, rust, rust_sources};

#[test]
fn files_are_short() {
    let lengths = rust_sources().into_iter().map(|source| (source.path, source.text.lines().count()));
    let listed = LONG_FILES.iter().map(|(path, lines)| ((*path).to_owned(), *lines)).collect();
    none(&broken(lengths.collect(), &listed, MAX_FILE_LINES), "source files are at most 600 lines long");
}

#[test]
fn functions_are_short() {
    let mut lengths = BTreeMap::new();
    for source in rust_sources() {
        for function in rust::functions(&source.text) {
            // Of two functions of one name in a file the longer one counts.
            let longest = lengths.entry((source.path.clone(), function.name)).or_default();
            *longest = function.lines.max(*longest);
        }
    }
    let listed = LONG_FUNCTIONS
        .iter()
        .map(|((path, name), lines)| (((*path).to_owned(), (*name).to_owned()), *lines))
        .collect();
    none(&broken(lengths, &listed, MAX_FUNCTION_LINES), "functions are at most 100 lines long");
}

/// What breaks the ratchet: too long and not listed, or listed with another number than it has.
fn broken<K: Ord + Debug>(
    lengths: BTreeMap<K, usize>,
    listed: &BTreeMap<K, usize>,
    limit: usize,
) -> Vec<String> {
    let mut findings = Vec::new();
    for (what, lines) in &lengths {
        match listed.get(what) {
            None if *lines > limit => findings.push(format!("{what:?} has {lines} lines")),
            Some(was) if lines > was => findings.push(format!("{what:?} grew from {was} to {lines} lines")),
            Some(was) if lines < was => {
                findings.push(format!("{what:?} shrank from {was} to {lines} lines: lower its number"));
            }
            Some(_) if *lines <= limit => findings.push(format!("{what:?} needs no exception any more")),
            _ => {}
        }
    }
    let gone = listed.keys().filter(|what| !lengths.contains_key(what));
    findings.extend(gone.map(|what| format!("{what:?} is listed and does not exist")));
    findings
}

#[test]
fn the_ratchet_finds_each_kind() {
    let lengths = BTreeMap::from([("long", 11), ("grew", 13), ("shrank", 11), ("fine", 10), ("same", 12)]);
    let listed = BTreeMap::from([("grew", 12), ("shrank", 12), ("same", 12), ("gone", 12)]);
    let findings = broken(lengths, &listed, 10);
    let names = ["grew", "long", "shrank", "gone"];
    assert_eq!(findings.len(), names.len(), "{findings:?}");
    assert!(findings.iter().zip(names).all(|(finding, name)| finding.contains(name)), "{findings:?}");
}
