//! Pages name only what exists.

use std::path::Path;

use super::{Source, none, root, sources};

/// What looks like a path in `ARCHITECTURE.md` and is none of the tree.
const NOT_PATHS: [&str; 2] = ["application/", "text/"];

#[test]
fn every_path_named_in_the_architecture_exists() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let missing = code_spans(&text)
        .filter(|span| looks_like_a_path(span))
        .filter(|span| !root().join(span.trim_end_matches('/')).exists())
        .map(str::to_owned);
    none(&missing.collect::<Vec<_>>(), "every path named in ARCHITECTURE.md exists");
}

#[test]
fn every_relative_link_leads_somewhere() {
    let pages = sources().into_iter().filter(|source| source.path.ends_with(".md"));
    none(&pages.flat_map(|page| dead_links(&page)).collect::<Vec<_>>(), "a link leads somewhere");
}

fn code_spans(text: &str) -> impl Iterator<Item = &str> {
    // Odd pieces between backticks, fenced blocks aside: those hold drawings and commands.
    text.split("```").step_by(2).flat_map(|prose| prose.split('`').skip(1).step_by(2))
}

/// A path from the root: with a slash inside or a known ending, and nothing that paths of ours never hold.
fn looks_like_a_path(span: &str) -> bool {
    let plain = span.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
    let ending = [".rs", ".md", ".toml", ".json", ".sh"].iter().any(|ending| span.ends_with(ending));
    let absolute = span.starts_with('/');
    plain && !absolute && (span.contains('/') || ending) && !NOT_PATHS.iter().any(|no| span.starts_with(no))
}

fn dead_links(page: &Source) -> Vec<String> {
    let folder = Path::new(&page.path).parent().unwrap();
    let prose: String = page.text.split("```").step_by(2).collect();
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
    targets
        .filter(|target| {
            !target.contains("://") && !target.starts_with(['#', '<']) && !target.starts_with("mailto:")
        })
        .filter(|target| {
            let path = target.split('#').next().unwrap();
            !root().join(folder).join(path).exists()
        })
        .map(|target| format!("{}: {target}", page.path))
        .collect()
}

#[test]
fn spans_and_paths_are_told_apart() {
    let text =
        "see `crates/env` and `check`, `a b/c`, `/ready`, `text/plain`, `x.rs`\n```\n`not/here`\n```\n";
    let paths: Vec<_> = code_spans(text).filter(|span| looks_like_a_path(span)).collect();
    assert_eq!(paths, ["crates/env", "x.rs"]);
}
