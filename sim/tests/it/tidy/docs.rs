//! Pages name only what exists.

use std::collections::BTreeSet;

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
    let prose: String = page.text.split("```").step_by(2).collect();
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
    targets
        .filter(|target| {
            !target.contains("://") && !target.starts_with('<') && !target.starts_with("mailto:")
        })
        .filter(|target| !leads_somewhere(page, target))
        .map(|target| format!("{}: {target}", page.path))
        .collect()
}

/// Whether a relative link names a file, and its anchor a heading of that page.
fn leads_somewhere(page: &Source, target: &str) -> bool {
    let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
    let file = root().join(&page.path).parent().unwrap().join(path);
    match anchor {
        None => file.exists(),
        Some(anchor) if path.is_empty() => anchors(&page.text).contains(anchor),
        Some(anchor) => std::fs::read_to_string(file).is_ok_and(|text| anchors(&text).contains(anchor)),
    }
}

/// The anchors of a page's headings, as the book and the usual viewers make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let prose: String = text.split("\n```").step_by(2).collect::<Vec<_>>().join("\n");
    for heading in prose.lines().filter(|line| line.starts_with('#')) {
        let title = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        let plain: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let again = (1..).map(|number| format!("{plain}-{number}"));
        let free = std::iter::once(plain.clone()).chain(again).find(|name| !found.contains(name));
        found.extend(free);
    }
    found
}

#[test]
fn spans_and_paths_are_told_apart() {
    let text =
        "see `crates/env` and `check`, `a b/c`, `/ready`, `text/plain`, `x.rs`\n```\n`not/here`\n```\n";
    let paths: Vec<_> = code_spans(text).filter(|span| looks_like_a_path(span)).collect();
    assert_eq!(paths, ["crates/env", "x.rs"]);
}

#[test]
fn anchors_are_those_of_the_viewers() {
    let text = "# One: `two`, three\n\n```sh\n# none\n```\n## Same\n## Same\n## a_b-c\n";
    let expected = ["a_b-c", "one-two-three", "same", "same-1"].map(str::to_owned);
    assert_eq!(anchors(text), BTreeSet::from(expected));
    let page = Source { path: "README.md".to_owned(), text: text.to_owned() };
    assert!(leads_somewhere(&page, "#same-1") && leads_somewhere(&page, "docs/http.md#offsets"));
    let dead = ["#other", "docs/http.md#no-such-heading", "docs/none.md", "docs/none.md#offsets"];
    assert!(dead.iter().all(|target| !leads_somewhere(&page, target)));
}
