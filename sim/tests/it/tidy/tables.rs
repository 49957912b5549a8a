//! Tables of the pages, read: owns where a table begins and ends, guarantees that a name which is twice in a first
//! column is found, never knows what a table is about.

use std::collections::BTreeSet;

use super::{Source, none, root};

/// A file of the tree by its path.
pub fn source(path: &str) -> Source {
    let text = std::fs::read_to_string(root().join(path)).unwrap();
    Source { path: path.to_owned(), text }
}

/// The rows of the first table behind a heading, without its head.
pub fn rows(page: &str, heading: &str) -> Vec<Vec<String>> {
    let page = source(page);
    let section = page.text.split(&format!("\n{heading}\n")).nth(1);
    let section = section.unwrap_or_else(|| panic!("{} has no {heading}", page.path));
    let lines = section.lines().skip_while(|line| !line.starts_with("| ---")).skip(1);
    lines
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect())
        .collect()
}

/// The names in the first column of that table, in lower case; each may be there once.
pub fn column(page: &str, heading: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for name in rows(page, heading).iter().flat_map(|row| spans(&row[0])) {
        assert!(found.insert(name.to_lowercase()), "{page}, {heading}: {name} twice");
    }
    found
}

/// What stands between backticks.
pub fn spans(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_setting_is_in_its_table() {
    let code = source("crates/server/src/config/node.rs").text;
    let list = code.split("\nsettings! {").nth(1).unwrap().split("\n}").next().unwrap();
    let list = list.split("\n    => hidden\n").next().unwrap();
    let declared = list.lines().filter(|line| line.contains(" = \"") && !line.starts_with("        "));
    let known: BTreeSet<_> = declared.filter_map(|line| line.split('"').nth(1)).map(str::to_owned).collect();
    assert!(known.contains("data-dir") && known.len() > 15, "{known:?}");
    let here = column("docs/guide/node.md", "## Settings");
    let differ: Vec<_> = known.symmetric_difference(&here).cloned().collect();
    none(&differ, "the table of settings in docs/guide/node.md is that of the code");
}
